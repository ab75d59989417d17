// The response that brought this script exchanged the token in the address for a session. Replacing
// the address with the same page without the token removes it from the history.
location.replace(location.pathname + location.hash);
