/**
 * A recorded run as one HTML page: to be mailed, attached to an issue, kept. It needs no server, no script and no other
 * file.
 *
 *  P1  Whatever nodes are called, and whatever jobs log and throw, is text: all of it passes through escaped(), and the
 *      policy in the page allows nothing but its own style.
 *  P2  It is bounded: omitted rows are counted, in their place.
 */
import {
  nodeWord,
  outcomeOf,
  queueTime,
  runTime,
  timelineOf,
  type TimelineRow,
} from '@heddle/core/lowlevel'
import type { LogPage } from '../client/contract/runs.ts'
import { escaped } from '../http/html.ts'
import { style } from './html-report-style.ts'
import { mermaid } from './exports.ts'
import type { ViewedRun } from './record-views.ts'

const mostBars = 300
const mostRows = 5_000
const mostFailures = 200
const mostInGraph = 500
const mostOnPath = 100

export function htmlReport(viewed: ViewedRun, log: LogPage, madeAt: number): string {
  const { record } = viewed
  const { id, title } = record
  return `<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta http-equiv="content-security-policy" content="default-src 'none'; style-src 'unsafe-inline'">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta name="robots" content="noindex">
<title>${escaped(title)}, run ${escaped(id)}</title>
<style>${style}</style>
</head>
<body>
<main>
${head(viewed)}
${failures(viewed)}
${timeline(viewed)}
${criticalPath(viewed)}
${nodes(viewed)}
${logLines(log)}
${graph(viewed)}
</main>
<footer>Run ${escaped(id)}, written by Heddle on ${timeText(madeAt)}.</footer>
</body>
</html>
`
}

function head({ record, criticalPath: path }: ViewedRun): string {
  const outcome = outcomeOf(record)
  const attempts = record.nodes.reduce((sum, node) => sum + node.attempts.length, 0)
  const counts = Object.entries(record.counts)
    .filter(([, count]) => count > 0)
    .map(([state, count]) => `${count} ${state}`)
  const facts: readonly (readonly [string, string])[] = [
    ['Nodes', counts.join(', ')],
    ['Took', duration(record.elapsed)],
    ['Critical path', `${duration(path.length)}, ${plural(path.path.length, 'node')}`],
    ['Attempts', whole(attempts)],
    ['Started', timeText(record.startedAt)],
    ['Host', record.host],
    ['Command', record.command],
    ['Run', record.id],
  ]
  const list = facts.map(([name, value]) => `<div><dt>${name}</dt><dd>${escaped(value)}</dd></div>`)
  return `<header>
<h1><span class="state ${outcome}">${outcome}</span> ${escaped(record.title)}</h1>
<dl class="facts">${list.join('')}</dl>
</header>`
}

function failures(viewed: ViewedRun): string {
  const { record } = viewed
  const failed = record.nodes.filter(({ attempts }) => attempts.some((each) => each.error))
  if (failed.length === 0) return ''
  const items = failed.slice(0, mostFailures).map((node) => {
    const errors = node.attempts.flatMap(({ number, error }) =>
      error === undefined
        ? []
        : [
            `<li>attempt ${number}: <b>${escaped(error.code ?? error.name)}</b> ${escaped(error.message)}${stack(error.stack)}</li>`,
          ],
    )
    const word = nodeWord(node)
    return `<li><a href="#${anchor(viewed, node.name)}">${escaped(node.name)}</a> <span class="state ${word}">${word}</span><ol>${errors.join('')}</ol></li>`
  })
  return section(
    'Errors',
    `<ul class="errors">${items.join('\n')}</ul>${leftOut(failed.length - mostFailures, 'node')}`,
  )
}

function stack(text: string | undefined): string {
  if (text === undefined) return ''
  return `<details><summary>Stack</summary><pre>${escaped(text)}</pre></details>`
}

const rowHeight = 16
const labelWidth = 230
const barsWidth = 770

/** The earliest, and before them the critical path and the failures: readers search for these first. */
function shownRows(rows: readonly TimelineRow[]): readonly TimelineRow[] {
  if (rows.length <= mostBars) return rows
  const isNotable = ({ critical, state }: TimelineRow): boolean => critical || state === 'failed'
  const notable = rows.filter(isNotable).slice(0, mostBars)
  const others = rows.filter((row) => !isNotable(row)).slice(0, mostBars - notable.length)
  const shown = new Set([...notable, ...others])
  return rows.filter((row) => shown.has(row))
}

function timeline({ record, criticalPath: path }: ViewedRun): string {
  const { rows, length } = timelineOf(record, path)
  if (rows.length === 0) return ''
  const shown = shownRows(rows)
  const total = Math.max(1, length)
  const x = (time: number): string => (labelWidth + (time / total) * barsWidth).toFixed(1)
  const height = (shown.length + 1) * rowHeight + 6
  const ticks = [0, 0.25, 0.5, 0.75, 1].map((share) => {
    const at = share * total
    const end = share === 1 ? ' class="end"' : share === 0 ? '' : ' class="middle"'
    return `<line x1="${x(at)}" x2="${x(at)}" y1="${rowHeight}" y2="${height}"/><text x="${x(at)}" y="11"${end}>${duration(at)}</text>`
  })
  const bars = shown.map((row, i) => {
    const y = (i + 1) * rowHeight + 4
    const spans = row.spans.map((span) => {
      const width = Math.max(1, ((span.to - span.from) / total) * barsWidth).toFixed(1)
      const kind = span.kind === 'run' ? `run ${span.outcome}` : span.kind
      const what = `${row.node}: ${span.kind === 'run' ? span.outcome : span.kind}, ${duration(span.to - span.from)}`
      const slim = span.kind === 'run' ? `y="${y}" height="10"` : `y="${y + 3}" height="4"`
      return `<rect class="${kind}" x="${x(span.from)}" width="${width}" ${slim}><title>${escaped(what)}</title></rect>`
    })
    const mark = row.critical ? ' class="critical"' : ''
    return `<text x="${labelWidth - 8}" y="${y + 9}"${mark}>${escaped(short(row.node))}</text>${spans.join('')}`
  })
  return section(
    'Timeline',
    `<p class="legend"><i class="queue"></i> waits for a permit <i class="run succeeded"></i> succeeded <i class="run failed"></i> failed <i class="backoff"></i> until the next attempt; the critical path is bold</p>
<div class="wide"><svg viewBox="0 0 ${labelWidth + barsWidth + 10} ${height}" role="img" aria-label="When each node waited and ran"><g class="axis">${ticks.join('')}</g><g class="bars">${bars.join('\n')}</g></svg></div>
${leftOut(rows.length - shown.length, 'node')}`,
  )
}

function criticalPath(viewed: ViewedRun): string {
  const { criticalPath: path, record } = viewed
  if (path.path.length === 0) return ''
  const byName = new Map(record.nodes.map((node) => [node.name, node]))
  const steps = path.path.slice(0, mostOnPath).map(({ name }) => {
    const node = byName.get(name)
    const took = node === undefined ? '' : ` <span class="quiet">${duration(runTime(node))}</span>`
    return `<li>${node === undefined ? escaped(name) : `<a href="#${anchor(viewed, name)}">${escaped(name)}</a>`}${took}</li>`
  })
  return section(
    `Critical path, ${duration(path.length)}`,
    `<p>The chain that decided how long the run took.</p><ol class="path">${steps.join('')}</ol>${leftOut(path.path.length - mostOnPath, 'node')}`,
  )
}

function nodes(viewed: ViewedRun): string {
  const { record, criticalPath: path } = viewed
  const rows = record.nodes.slice(0, mostRows).map((node) => {
    const word = nodeWord(node)
    const slack = path.slackOf(node.name)
    const cells = [
      `<td id="${anchor(viewed, node.name)}">${escaped(node.name)}</td>`,
      `<td><span class="state ${word}">${word}</span></td>`,
      `<td>${escaped(node.job)}</td>`,
      `<td>${node.place}</td>`,
      `<td class="num">${node.attempts.length}</td>`,
      `<td class="num">${duration(queueTime(node, record.until))}</td>`,
      `<td class="num">${duration(runTime(node))}</td>`,
      `<td class="num">${slack === undefined ? '–' : duration(slack)}</td>`,
    ]
    return `<tr>${cells.join('')}</tr>`
  })
  const titles = ['Node', 'State', 'Job', 'Place', 'Attempts', 'Waited', 'Ran', 'Slack']
  const header = titles.map((title, i) => `<th${i > 3 ? ' class="num"' : ''}>${title}</th>`)
  return section(
    `Nodes, ${whole(record.nodes.length)}`,
    `<div class="wide"><table><thead><tr>${header.join('')}</tr></thead><tbody>${rows.join('\n')}</tbody></table></div>${leftOut(record.nodes.length - mostRows, 'node')}`,
  )
}

function logLines({ lines, next }: LogPage): string {
  if (lines.length === 0) return ''
  const text = lines.map(
    ({ at, node, text: line }) =>
      `<div><time>${timeText(at).slice(11, 19)}</time> <b>${escaped(node)}</b> ${escaped(line)}</div>`,
  )
  const more = next === null ? '' : '<p class="quiet">Later lines are left out.</p>'
  return section(
    `Log, ${plural(lines.length, 'line')}`,
    `<pre class="log">${text.join('')}</pre>${more}`,
  )
}

function graph({ record }: ViewedRun): string {
  if (record.nodes.length > mostInGraph) return ''
  return section(
    'Graph',
    `<details><summary>As Mermaid</summary><pre>${escaped(mermaid(record))}</pre></details>`,
  )
}

function section(title: string, body: string): string {
  return `<section><h2>${escaped(title)}</h2>\n${body}</section>`
}

/** P2. */
function leftOut(more: number, what: string): string {
  return more > 0 ? `<p class="quiet">${plural(more, what)} left out here.</p>` : ''
}

/** Names of nodes hold anything; their place in the graph does not. */
function anchor({ indexes }: ViewedRun, name: string): string {
  return `n${indexes.get(name)}`
}

function short(name: string): string {
  return name.length > 34 ? `${name.slice(0, 20)}…${name.slice(-12)}` : name
}

const integers = new Intl.NumberFormat('en-US')

function whole(number: number): string {
  return integers.format(number)
}

function plural(number: number, one: string): string {
  return `${whole(number)} ${one}${number === 1 ? '' : 's'}`
}

/** `840 ms`, `4.2 s`, `1 min 04 s`, `2 h 03 min`. */
function duration(ms: number): string {
  if (ms < 1_000) return `${Math.round(ms)} ms`
  if (ms < 60_000) return `${(ms / 1_000).toFixed(1)} s`
  const seconds = Math.round(ms / 1_000)
  const two = (value: number): string => String(value).padStart(2, '0')
  if (seconds < 3_600) return `${Math.floor(seconds / 60)} min ${two(seconds % 60)} s`
  const minutes = Math.round(seconds / 60)
  return `${Math.floor(minutes / 60)} h ${two(minutes % 60)} min`
}

function timeText(at: number): string {
  return `${new Date(at).toISOString().slice(0, 19).replace('T', ' ')} UTC`
}
