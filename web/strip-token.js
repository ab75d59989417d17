// The response with this script has set the session cookie. The script replaces the address by one
// without the token, so that the browser's history does not keep the token.
location.replace(location.pathname + location.hash);
