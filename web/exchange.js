// The token in the address has been exchanged for a session by the response that brought this script. Going to the same
// page without it also takes it out of the history.
location.replace(location.pathname + location.hash);
