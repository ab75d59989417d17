// The response with this script has set the session cookie. It replaces the address with the same
// one without the token, which thus leaves the browser's history.
location.replace(location.pathname + location.hash);
