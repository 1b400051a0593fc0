//! One pool: its sizes, its money, its nodes one by one and why each is kept.

use ballast_core::view::{NodeView, View};
use maud::{Markup, html};

use super::overview::{body, sizes};
use crate::console::parts::{fullness, node_path, state_word};
use crate::present::figures;

/// Rows of the table; beyond it the grid still shows every node.
const ROWS_MAX: usize = 300;

pub(super) fn page(view: &View, name: &str) -> Markup {
    let Some(pool) = view.pools.iter().find(|pool| *pool.name == *name) else {
        return html! { h1 { "Pool " bdi { (name) } } p class="empty" { "No pool of this name is known now" } };
    };
    let nodes: Vec<&NodeView> = view.nodes.iter().filter(|node| node.pool == pool.name).collect();
    html! {
        p class="crumbs" { a href="/" { "Overview" } }
        h1 { "Pool " bdi { (name) } }
        section class="panel" {
            p class="dim pool-line" {
                (sizes(pool)) " · " (figures::money(pool.cost_per_hour, &view.currency)) " per hour"
                @if let Some(price) = pool.price_per_hour { " · " (figures::money(price, &view.currency)) " a node" }
            }
            @if let Some(why) = &pool.backed_off { p class="warning" { "Takes no launches: " (why) } }
            (body(pool, &nodes))
        }
        section class="panel" {
            h2 { "Nodes" span class="badge" { (nodes.len()) } }
            div class="scroll" {
                table {
                    thead {
                        tr {
                            th scope="col" { "Node" } th scope="col" { "State" } th scope="col" { "Zone" }
                            th scope="col" class="number" { "Full" } th scope="col" class="number" { "Pods" } th scope="col" { "Kept because" }
                        }
                    }
                    tbody { @for node in nodes.iter().take(ROWS_MAX) { (row(node)) } }
                }
            }
            @if nodes.len() > ROWS_MAX { p class="more" { "and " (nodes.len() - ROWS_MAX) " more in the grid above" } }
        }
    }
}

fn row(node: &NodeView) -> Markup {
    html! {
        tr {
            th scope="row" { a href=(node_path(&node.name)) { bdi { (node.name) } } }
            td { i class={ "cell f2 " (state_word(node.state)) } aria-hidden="true" {} " " (state_word(node.state)) }
            td { bdi { (node.zone) } }
            td class="number" { (fullness(&node.usage)) "%" }
            td class="number" { (node.pods) }
            td class="reason" { (node.kept_because.as_deref().unwrap_or("")) }
        }
    }
}
