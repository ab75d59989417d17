//! Tests that saved notebooks are loaded unchanged.

use super::facts::Story;
use super::*;

#[test]
fn whatever_happened_comes_back() {
    for seed in 0..12 {
        let dir = Dir::new("round");
        let mut story = Story::new(seed);
        for _ in 0..300 {
            story.go_on();
        }
        let mut back = saved(&dir, &story.facts);
        // The store and the story each create a root, and the two creation times differ.
        let mut parts = parts_of(&story.notebook);
        parts.states[0].created_at = 0.0;
        back.states[0].created_at = 0.0;
        assert_same(&back, &parts, &format!("seed {seed}"));
    }
}

#[test]
fn a_whole_notebook_is_written_over_what_was_there() {
    for seed in 0..6 {
        let dir = Dir::new("whole");
        let mut story = Story::new(seed);
        for _ in 0..150 {
            story.go_on();
        }
        saved(&dir, &story.facts);
        for _ in 0..100 {
            story.go_on();
        }
        let (opened, news) = dir.open();
        opened.store.rewrite(7, &story.notebook);
        wait(&news, 7);
        opened.store.close();
        let (opened, _) = dir.open();
        assert_eq!(opened.damage, Vec::<String>::new());
        assert_same(&opened.parts, &parts_of(&story.notebook), &format!("seed {seed}"));
    }
}
