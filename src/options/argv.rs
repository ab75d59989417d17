//! Wipes secrets from what other processes can see: the token from the command line that `ps`
//! shows, and the credentials of a store from the environment that children inherit.

/// Overwrites the token in this process's command line, given as `--token T` or `--token=T`. Must
/// be called before any thread starts. If the command line cannot be found, the token stays visible
/// to other programs.
pub(super) fn wipe(token: &str) {
    if let Some((start, end)) = region(48) {
        // SAFETY: Linux reports that the command line is between these two addresses. This memory
        // is on the stack of the first thread, above all frames, is writable, and exists as long as
        // the process. No other thread exists that could read it meanwhile, and nothing holds a
        // reference to it: `std::env` copies it on every call.
        #[allow(unsafe_code)]
        let argv = unsafe { std::slice::from_raw_parts_mut(start as *mut u8, end - start) };
        wipe_from(argv, token.as_bytes());
    }
}

/// Removes variables from this process's environment, and overwrites their values in
/// `/proc/PID/environ`. Must be called before any thread starts.
pub(super) fn forget(names: &[String]) {
    for name in names.iter().filter(|name| std::env::var_os(name).is_some()) {
        // SAFETY: no other thread exists that could read the environment meanwhile.
        #[allow(unsafe_code)]
        unsafe {
            std::env::remove_var(name);
        }
    }
    if let Some((start, end)) = region(50) {
        // SAFETY: Linux reports that the environment that this process was started with is between
        // these two addresses. As for the command line, this memory is writable and exists as long
        // as the process. No other thread exists, and nothing holds a reference to it: the removed
        // variables have no pointer any more, and `std::env` copies the others on every call.
        #[allow(unsafe_code)]
        let environ = unsafe { std::slice::from_raw_parts_mut(start as *mut u8, end - start) };
        forget_in(environ, names);
    }
}

/// Overwrites the values of variables in an environment as Linux stores it: each ends in NUL.
fn forget_in(environ: &mut [u8], names: &[String]) {
    for variable in environ.split_mut(|byte| *byte == 0) {
        let Some(end) = variable.iter().position(|byte| *byte == b'=') else { continue };
        if names.iter().any(|name| name.as_bytes() == &variable[..end]) {
            variable[end + 1..].fill(b'x');
        }
    }
}

/// The addresses of the command line (`field` 48) or of the environment (50), from
/// `/proc/self/stat` (proc_pid_stat(5)).
fn region(field: usize) -> Option<(usize, usize)> {
    let stat = std::fs::read_to_string("/proc/self/stat").ok()?;
    // The second field, the program's name in parentheses, may contain any character. The third
    // field follows the last `)`.
    let mut fields = stat.rsplit_once(')')?.1.split_ascii_whitespace().skip(field - 3);
    let start = fields.next()?.parse().ok()?;
    let end = fields.next()?.parse().ok()?;
    (start != 0 && start < end).then_some((start, end))
}

/// Overwrites the token in a command line as Linux stores it: each argument ends in NUL.
fn wipe_from(argv: &mut [u8], token: &[u8]) {
    let mut is_value = false;
    for argument in argv.split_mut(|byte| *byte == 0) {
        let value = match argument.strip_prefix(b"--token=") {
            Some(_) => argument.get_mut(b"--token=".len()..),
            None if is_value => Some(&mut *argument),
            None => None,
        };
        if let Some(value) = value
            && value == token
        {
            value.fill(b'x');
        }
        is_value = argument == b"--token";
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn wiped(argv: &str, token: &str) -> String {
        let mut bytes = argv.as_bytes().to_vec();
        wipe_from(&mut bytes, token.as_bytes());
        String::from_utf8_lossy(&bytes).into_owned()
    }

    #[test]
    fn the_token_goes_and_all_else_stays() {
        assert_eq!(wiped("ratoon\0--token\0abc\0--dir\0abc\0", "abc"), "ratoon\0--token\0xxx\0--dir\0abc\0");
        assert_eq!(wiped("ratoon\0abc\0--token=abc\0", "abc"), "ratoon\0abc\0--token=xxx\0");
        assert_eq!(wiped("ratoon\0--token=--token\0", "--token"), "ratoon\0--token=xxxxxxx\0");
    }

    #[test]
    fn only_the_named_variables_are_overwritten() {
        let mut environ = b"A=1\0AWS_SECRET=key\0AWS_SECRETS=a=b\0odd\0".to_vec();
        forget_in(&mut environ, &["AWS_SECRET".into(), "odd".into()]);
        assert_eq!(environ, b"A=1\0AWS_SECRET=xxx\0AWS_SECRETS=a=b\0odd\0");
        let (start, end) = region(50).unwrap_or_default();
        let length = std::fs::read("/proc/self/environ").map(|text| text.len()).unwrap_or_default();
        assert_eq!(end - start, length);
    }

    #[test]
    fn the_command_line_is_found() {
        let (start, end) = region(48).unwrap_or_default();
        let length = std::fs::read("/proc/self/cmdline").map(|line| line.len()).unwrap_or_default();
        assert_eq!(end - start, length);
    }
}
