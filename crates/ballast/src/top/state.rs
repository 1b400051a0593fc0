//! What the reader of the screen has chosen.

use ballast_core::view::{NodeView, View};

/// What the reader has chosen.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct State {
    /// The row that is marked.
    pub marked: usize,
    /// In which order nodes stand.
    pub sort: Sort,
    /// Only nodes with GPUs are shown.
    pub only_gpus: bool,
    /// What is known of the marked row is shown in full.
    pub explains: bool,
}

/// In which order nodes stand.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Sort {
    /// By pool and name.
    #[default]
    Pool,
    /// The fullest first.
    Use,
}

/// What a key means.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Key {
    /// One row up.
    Up,
    /// One row down.
    Down,
    /// Another order.
    Sort,
    /// Only nodes with GPUs, or all.
    Gpus,
    /// The marked row in full, or not.
    Explain,
    /// The end.
    Quit,
}

impl State {
    /// Takes a key; whether it was the last.
    pub fn press(&mut self, key: Key, view: &View) -> bool {
        let last = self.rows(view).len().saturating_sub(1);
        match key {
            Key::Up => self.marked = self.marked.min(last).saturating_sub(1),
            Key::Down => self.marked = (self.marked + 1).min(last),
            Key::Sort => self.sort = if self.sort == Sort::Pool { Sort::Use } else { Sort::Pool },
            Key::Gpus => self.only_gpus = !self.only_gpus,
            Key::Explain => self.explains = !self.explains,
            Key::Quit => return true,
        }
        false
    }

    /// The nodes that are shown, in their order.
    pub fn rows<'v>(&self, view: &'v View) -> Vec<&'v NodeView> {
        let is_shown = |node: &&NodeView| !self.only_gpus || node.usage.gpu > 0;
        let mut rows: Vec<&NodeView> = view.nodes.iter().filter(is_shown).collect();
        rows.sort_by(|a, b| a.rank().cmp(&b.rank()));
        if self.sort == Sort::Use {
            rows.sort_by_key(|node| std::cmp::Reverse(fullness(node)));
        }
        rows
    }
}

/// How full a node is in what it has least left of, in thousandths.
fn fullness(node: &NodeView) -> i64 {
    let usage = &node.usage;
    let parts = [
        (usage.cpu_requested, usage.cpu),
        (usage.memory_requested, usage.memory),
        (usage.gpu_requested, usage.gpu),
    ];
    let share =
        |(part, whole): (i64, i64)| if whole > 0 { (part as i128 * 1000 / whole as i128) as i64 } else { 0 };
    parts.into_iter().map(share).max().unwrap_or(0)
}
