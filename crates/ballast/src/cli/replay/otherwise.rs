//! `ballast replay --policy`: where another policy would have decided otherwise.

use std::io::BufRead;

use ballast_core::plan::Action;
use ballast_core::record::{Differing, OtherPolicy, Otherwise, otherwise};

use super::{RECORDS, counted, print};
use crate::cli::Result;
use crate::cli::policy_file::PolicyFile;
use crate::present::format::Format;
use crate::present::replay::Answer;
use crate::present::table::Table;
use crate::present::{Doing, Hint, Screen};

/// Rows of a table for people; `-o wide` and `-o json` have more.
const ROWS_MAX: usize = 10;
/// Actions of one side that a row names.
const NAMED_MAX: usize = 3;

pub(super) fn run<D: std::fmt::Display>(
    file: &PolicyFile,
    record: impl BufRead,
    doing: impl FnOnce() -> D,
    output: Format,
    screen: &mut Screen,
) -> Result {
    let policy = OtherPolicy { cluster: file.cluster.clone(), pools: file.pools.clone() };
    let told = otherwise(record, &policy).doing(doing).hint(|| RECORDS)?;
    let known: Vec<&str> = told.pools.iter().map(|name| &**name).collect();
    file.refuse_unknown(&known, "the record")?;
    let rows = |wide| if wide { usize::MAX } else { ROWS_MAX };
    let numbers = told.differing.iter().map(|differing| differing.seq).collect();
    print(&Answer::under(&told), |wide| tables(&told, &file.name, rows(wide)), numbers, output, screen)
}

fn tables(told: &Otherwise, file: &str, rows: usize) -> String {
    let Otherwise { plans, different, differing, .. } = told;
    let Some(first) = differing.first() else {
        return format!("{}, all of which do the same under {file}\n", counted(*plans, "plan", "plans"));
    };
    let mut reasons = Table::new(&["", "ACTION", "TARGET", "POOL", "REASON"]);
    for (side, actions) in [("recorded", &first.recorded), (file, &first.other)] {
        for Action { kind, target, reason, .. } in actions {
            let (name, pool) = (target.name.to_string(), target.pool.to_string());
            reasons.row([side.to_owned(), kind.to_string(), name, pool, reason.message.clone()]);
        }
    }
    let mut table =
        Table::new(&[">ENTRY", "AT", ">PLANS", "ONLY AS RECORDED", &format!("ONLY UNDER {file}")]);
    for Differing { seq, at, plans, recorded, other } in differing.iter().take(rows) {
        table.row([seq.to_string(), at.to_string(), plans.to_string(), named(recorded), named(other)]);
    }
    let shown: u64 = differing.iter().take(rows).map(|differing| differing.plans).sum();
    let more = match different - shown {
        0 => String::new(),
        left => format!("and {} more\n", counted(left, "plan", "plans")),
    };
    format!(
        "The first difference, at {} after entry {}:\n{}\nAll of them:\n{}{more}\n{different} of {} would have done \
         something else\n",
        first.at,
        first.seq,
        reasons.render(),
        table.render(),
        counted(*plans, "plan", "plans"),
    )
}

/// Actions in a few words.
fn named(actions: &[Action]) -> String {
    let word = |action: &Action| format!("{} {}", action.kind, action.target.name);
    let mut words: Vec<String> = actions.iter().take(NAMED_MAX).map(word).collect();
    match actions.len() {
        0 => words.push("nothing".to_owned()),
        all if all > NAMED_MAX => words.push(format!("{} more", all - NAMED_MAX)),
        _ => {}
    }
    words.join(", ")
}
