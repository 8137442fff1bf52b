/** The style of a run's HTML page, in both themes, and on paper. */
export const style = `
:root { color-scheme: light dark; --bg: #f6f7f9; --card: #fff; --line: #e1e5ea; --text: #18202c; --quiet: #566273;
  --link: #2f48b8; --good: #2f9e63; --good-text: #1b6b41; --good-bg: #e5f5ec; --bad: #d13a33; --bad-text: #ab2620;
  --bad-bg: #fcecea; --other: #8d94a0; --other-bg: #eef0f3; --queue: #c5ccd6; --backoff: #e0982a }
@media (prefers-color-scheme: dark) { :root { --bg: #10141b; --card: #171c25; --line: #2a313d; --text: #e6eaf0;
  --quiet: #a3adbb; --link: #9db1ff; --good: #3fb377; --good-text: #7fdcab; --good-bg: #14301f; --bad: #e2605a;
  --bad-text: #ff9f99; --bad-bg: #3a1917; --other: #7c8798; --other-bg: #232a35; --queue: #4a5464; --backoff: #c9862a } }
* { box-sizing: border-box }
body { margin: 0; background: var(--bg); color: var(--text);
  font: 14px/1.5 system-ui, -apple-system, 'Segoe UI', Roboto, 'Helvetica Neue', 'Open Sans', Arial, sans-serif }
main { max-width: 1080px; margin: 0 auto; padding: 24px 16px }
header, section { background: var(--card); border: 1px solid var(--line); border-radius: 10px; padding: 16px 20px; margin: 0 0 16px }
h1 { font-size: 20px; margin: 0 0 12px; overflow-wrap: anywhere }
h2 { font-size: 15px; margin: 0 0 10px }
a { color: var(--link) }
footer, .quiet { color: var(--quiet) }
footer { max-width: 1080px; margin: 0 auto; padding: 0 20px 32px; font-size: 12px }
.facts { display: grid; grid-template-columns: repeat(auto-fill, minmax(220px, 1fr)); gap: 10px 24px; margin: 0 }
dt { color: var(--quiet); font-size: 12px }
dd { margin: 0; overflow-wrap: anywhere }
.state { display: inline-block; padding: 1px 8px; border-radius: 99px; font-size: 12px; font-weight: 600;
  background: var(--other-bg); vertical-align: middle }
.state.succeeded { background: var(--good-bg); color: var(--good-text) }
.state.failed, .state.blocked { background: var(--bad-bg); color: var(--bad-text) }
.wide { overflow-x: auto }
svg { display: block; width: 100%; min-width: 760px }
svg text { fill: var(--text); font-size: 11px }
.bars text { text-anchor: end }
.bars .critical { font-weight: 700 }
.axis text { fill: var(--quiet) }
.axis .middle { text-anchor: middle }
.axis .end { text-anchor: end }
.axis line { stroke: var(--line) }
rect.run, i.run { fill: var(--other); background: var(--other) }
rect.succeeded, i.succeeded { fill: var(--good); background: var(--good) }
rect.failed, i.failed { fill: var(--bad); background: var(--bad) }
rect.queue, i.queue { fill: var(--queue); background: var(--queue) }
rect.backoff, i.backoff { fill: var(--backoff); background: var(--backoff) }
.legend { color: var(--quiet); font-size: 12px; margin: 0 0 8px }
.legend i { display: inline-block; width: 10px; height: 10px; border-radius: 2px; margin-left: 10px }
.legend i:first-child { margin-left: 0 }
table { border-collapse: collapse; width: 100% }
th, td { text-align: left; padding: 4px 12px 4px 0; border-bottom: 1px solid var(--line); white-space: nowrap }
td:first-child { white-space: normal; overflow-wrap: anywhere; min-width: 180px }
th { font-size: 12px; color: var(--quiet); font-weight: 600 }
.num { text-align: right; font-variant-numeric: tabular-nums }
:target { background: var(--other-bg) }
pre { margin: 8px 0 0; padding: 10px 12px; background: var(--other-bg); border-radius: 6px; overflow-x: auto;
  font: 12px/1.5 ui-monospace, 'SF Mono', Menlo, Consolas, 'DejaVu Sans Mono', monospace; white-space: pre-wrap; overflow-wrap: anywhere }
.log time { color: var(--quiet) }
.path { display: flex; flex-wrap: wrap; gap: 4px 36px; padding-left: 20px; margin: 0 }
.errors, .errors ol { padding-left: 20px; margin: 0 }
.errors > li { margin-bottom: 8px }
@media print { body { background: none } header, section { break-inside: avoid-page; border-color: #999 } details { display: none } }
`
