//! Text that other programs wrote for a terminal, or that came from another machine: made safe to
//! show.

/// Parses an escape sequence, from the character after ESC. Returns the numbers of a style sequence
/// (`None` for other sequences), and the text after the sequence.
pub(crate) fn sequence(text: &str) -> (Option<Vec<u32>>, &str) {
    match text.as_bytes().first() {
        Some(b'[') => {
            let inside = &text[1..];
            let Some(end) = inside.find(|c: char| ('@'..='~').contains(&c)) else { return (None, "") };
            let codes = inside[..end].split(';').map(|n| n.parse().unwrap_or(0)).collect();
            (inside[end..].starts_with('m').then_some(codes), &inside[end + 1..])
        }
        // The title of a window, or a link. The sequence ends with BEL or ESC \.
        Some(b']') => match text.find(['\u{7}', '\u{1b}']) {
            Some(end) if text[end..].starts_with("\u{1b}\\") => (None, &text[end + 2..]),
            Some(end) => (None, text.get(end + 1..).unwrap_or_default()),
            None => (None, ""),
        },
        Some(_) => (None, text.char_indices().nth(1).map_or("", |(at, _)| &text[at..])),
        None => (None, ""),
    }
}

/// Removes all escape sequences.
pub(crate) fn without_sequences(text: &str) -> String {
    let (mut kept, mut rest) = (String::new(), text);
    while let Some(at) = rest.find('\u{1b}') {
        kept.push_str(&rest[..at]);
        rest = sequence(&rest[at + 1..]).1;
    }
    kept + rest
}

/// Replaces control and bidirectional characters, which could steer the terminal. Cuts the text
/// after `max_chars` characters.
pub(crate) fn plain(text: &str, max_chars: usize) -> String {
    let is_shown = |c: char| {
        !c.is_control() && !('\u{202a}'..='\u{202e}').contains(&c) && !('\u{2066}'..='\u{2069}').contains(&c)
    };
    let mut chars = text.chars();
    let mut shown: String =
        chars.by_ref().take(max_chars).map(|c| if is_shown(c) { c } else { '\u{fffd}' }).collect();
    if chars.next().is_some() {
        shown.push('…');
    }
    shown
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn escape_sequences_are_removed_and_what_could_steer_a_terminal_is_replaced() {
        let text = "\u{1b}[1;31mred\u{1b}[0m \u{1b}]0;title\u{7}\u{1b}]8;;x\u{1b}\\é\u{1b}(B\u{1b}";
        assert_eq!(without_sequences(text), "red éB");
        assert_eq!(without_sequences("cut \u{1b}[31"), "cut ");
        assert_eq!(plain("a\u{7}\u{202e}b\u{9b}", 9), "a\u{fffd}\u{fffd}b\u{fffd}");
        assert_eq!((plain("ééé", 3), plain("éééé", 3)), ("ééé".into(), "ééé…".into()));
    }
}
