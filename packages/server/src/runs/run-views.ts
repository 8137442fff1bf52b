/**
 * Answers questions about recorded runs. Runs in a thread where the journal can be opened there (view-thread.ts); over
 * a journal in memory it runs on the loop.
 *
 * A record of a large run takes long to read, so records are kept for a while. Every answer names the position it is
 * made from, and streams of events continue from a position: an answer that is a second old is followed by exactly the
 * rows that it lacks.
 *
 *  V1  A record that has all rows of its run is used until another one needs its room.
 *  V2  For a live run, a record that lacks rows is used for as long as four times what it took to read, at most
 *      2 s. Of a run that has ended it is not used.
 *  V3  Questions that need the same record share one read.
 */
import { HeddleError, isError, type Redact } from '@heddle/core'
import {
  compareRuns,
  criticalPathOf,
  describeDifference,
  forecastOf,
  momentOf,
  readInput,
  readRecord,
  redactValue,
  suggest,
  testOf,
  timedNodes,
  toJsonText,
  withoutPasswords,
  type Clock,
  type InputRecord,
  type Journal,
  type Moment,
  type RunOverview,
} from '@heddle/core/lowlevel'
import type { exportFormats, LogPage, NodeDetail, RunComparison } from '../client/contract/runs.ts'
import { chromeTrace, graphJson, mermaid } from './exports.ts'
import { htmlReport } from './html-report.ts'
import {
  graphView,
  headView,
  nodesView,
  nodeView,
  summaryView,
  timelineView,
  type LoopGapInput,
  type ViewedRun,
} from './record-views.ts'

export interface PointInput {
  readonly position?: number | undefined
  readonly at?: number | undefined
}

export type ViewQuestion =
  | {
      readonly type: 'head'
      readonly run: string
      readonly point?: PointInput
      /** Known only to the process that runs it. */
      readonly isSteerable?: boolean
    }
  | {
      readonly type: 'nodes'
      readonly run: string
      readonly point?: PointInput
      readonly from: number
      readonly limit: number
    }
  | {
      readonly type: 'timeline'
      readonly run: string
      readonly point?: PointInput
      readonly from: number
      readonly limit: number
      /** Loop gaps of the process that ran it. */
      readonly gaps: readonly LoopGapInput[]
    }
  | {
      readonly type: 'graph'
      readonly run: string
      readonly from: number
      readonly limit: number
    }
  | {
      readonly type: 'node'
      readonly run: string
      readonly node: string
      readonly point?: PointInput
      readonly valueLimit: number
    }
  | { readonly type: 'result'; readonly run: string; readonly node: string }
  | {
      readonly type: 'log'
      readonly run: string
      readonly node?: string | undefined
      readonly text?: string | undefined
      readonly after: number
      readonly limit: number
    }
  | { readonly type: 'compare'; readonly run: string; readonly with: string }
  | { readonly type: 'forecast'; readonly run: string; readonly concurrency: number }
  | {
      readonly type: 'export'
      readonly run: string
      readonly format: (typeof exportFormats)[number]
    }

/** Nodes in all records that are kept: some hundred megabytes. */
const nodesKept = 400_000
const recordsKept = 8
const listShown = 1_000

/** Rows that a question about the log reads at most. */
const logRowsRead = 200_000
/** Characters of lines after which a page ends: a job may log megabytes, and a page is made as a whole. */
const logCharactersSent = 2_000_000
/** How many log lines an exported page has, since it is sent by mail. */
const logLinesExported = 2_000

interface Kept {
  readonly run: Promise<ViewedRun>
  nodes: number
  /** Whether its run had ended. */
  readonly isOver: boolean
  /** The last row of the run when it was read. */
  last: number
  until: number
}

export class RunViews {
  readonly #journal: Journal
  readonly #clock: Clock
  /** Least recently used first. */
  readonly #kept = new Map<string, Kept>()

  constructor(journal: Journal, clock: Clock) {
    this.#journal = journal
    this.#clock = clock
  }

  /**
   * The body of an answer, as text.
   *
   * *Cancellation*: none; the work is bounded by the size of the run.
   * @throws `HDL_UNKNOWN_RUN`, `HDL_UNKNOWN_NODE`, `HDL_NO_RESULT`, `HDL_BAD_OPTION`.
   */
  async answer(question: ViewQuestion): Promise<string> {
    switch (question.type) {
      case 'head':
        return JSON.stringify(
          headView(await this.#view(question.run, question.point), question.isSteerable ?? false),
        )
      case 'nodes': {
        const run = await this.#view(question.run, question.point)
        return JSON.stringify(nodesView(run, question.from, question.limit))
      }
      case 'timeline': {
        const run = await this.#view(question.run, question.point)
        return JSON.stringify(timelineView(run, question.from, question.limit, question.gaps))
      }
      case 'graph':
        return JSON.stringify(
          graphView(await this.#view(question.run), question.from, question.limit),
        )
      case 'node':
        return this.#node(question)
      case 'result':
        return this.#result(question)
      case 'log':
        return JSON.stringify(await this.#log(question))
      case 'compare':
        return JSON.stringify(await this.#compare(question.with, question.run))
      case 'forecast': {
        const { record, criticalPath } = await this.#view(question.run)
        const { concurrency } = question
        const { duration } = await forecastOf(timedNodes(record), { concurrency })
        return JSON.stringify({
          duration_ms: duration,
          recorded_ms: record.elapsed,
          critical_path_ms: criticalPath.length,
        })
      }
      case 'export':
        return this.#export(question)
    }
  }

  async #export({ run, format }: ViewQuestion & { readonly type: 'export' }): Promise<string> {
    if (format === 'rows') {
      let text = ''
      for await (const entry of this.#journal.history(run)) text += `${JSON.stringify(entry)}\n`
      return text
    }
    if (format === 'test') {
      const address = withoutPasswords(this.#journal.address)
      return (await testOf(this.#journal, run, { address, by: 'the dashboard' })).source
    }
    const viewed = await this.#view(run)
    const { record } = viewed
    if (format === 'html') {
      const limit = logLinesExported
      const log = await this.#log({ type: 'log', run, after: 0, limit })
      return htmlReport(viewed, log, this.#clock.wallTime())
    }
    if (format === 'trace') return JSON.stringify(chromeTrace(record))
    return format === 'mermaid' ? mermaid(record) : JSON.stringify(graphJson(record))
  }

  async #node(question: ViewQuestion & { readonly type: 'node' }): Promise<string> {
    const run = await this.#view(question.run, question.point)
    const index = run.indexes.get(question.node)
    if (index === undefined) {
      const suggestion = suggest(question.node, [...run.indexes.keys()])
      throw new HeddleError('HDL_UNKNOWN_NODE', { node: question.node, suggestion })
    }
    const node = run.record.nodes[index]!
    const value = node.hasValue ? await this.#value(question, node.redact) : { bytes: null }
    return JSON.stringify({
      ...nodeView(run, index),
      progress: null,
      result: value,
      input: inputView(await readInput(this.#journal, question.run, node), question.valueLimit),
      log_lines: node.logLines ?? 0,
    })
  }

  async #result({ run, node }: ViewQuestion & { readonly type: 'result' }): Promise<string> {
    const { record, indexes } = await this.#view(run)
    const redact = record.nodes[indexes.get(node) ?? -1]?.redact
    return toJsonText(redactValue(await this.#journal.valueOf(run, node), redact))
  }

  async #value(
    { run, node, valueLimit }: ViewQuestion & { readonly type: 'node' },
    redact: Redact | undefined,
  ): Promise<NodeDetail['result']> {
    try {
      const value = redactValue(await this.#journal.valueOf(run, node), redact)
      return valueView(toJsonText(value), valueLimit)
    } catch (error) {
      if (isError(error, 'HDL_NO_RESULT')) return { bytes: null }
      throw error
    }
  }

  async #log(question: ViewQuestion & { readonly type: 'log' }): Promise<LogPage> {
    const { run, node, after, limit } = question
    const text = question.text?.toLowerCase() ?? ''
    const lines: LogPage['lines'] = []
    let position = after
    let read = 0
    let characters = 0
    for await (const entry of this.#journal.history(run, { from: after })) {
      if (lines.length === limit || characters >= logCharactersSent || ++read > logRowsRead) {
        return { lines, next: position, position }
      }
      position = entry.position
      if (entry.kind !== 'log' || (node !== undefined && entry.node !== node)) continue
      if (text !== '' && !entry.text.toLowerCase().includes(text)) continue
      const { attempt, at } = entry
      characters += entry.text.length
      lines.push({ position, node: entry.node, attempt, at, text: entry.text })
    }
    return { lines, next: null, position }
  }

  async #compare(before: string, now: string): Promise<RunComparison> {
    const [a, b] = [await this.#view(before), await this.#view(now)]
    const found = await compareRuns(a.record, b.record)
    const summary = ({ record }: ViewedRun): RunComparison['now'] =>
      summaryView(record, record.options['labels'] ?? {}, false)
    const more = (list: readonly unknown[]): number => Math.max(0, list.length - listShown)
    return {
      before: summary(a),
      now: summary(b),
      total: found.total,
      critical_path: found.criticalPath,
      nodes: found.nodes.slice(0, listShown),
      nodes_more: more(found.nodes),
      same: found.same,
      graph: found.graph.slice(0, listShown).map((each) => ({
        kind: each.kind,
        node: each.node,
        text: describeDifference(each),
      })),
      graph_more: more(found.graph),
      outcomes: found.outcomes
        .slice(0, listShown)
        .map((each) => ({ node: each.node, before: each.before, now: each.now })),
      outcomes_more: more(found.outcomes),
      limits: found.limits
        .filter(({ limit }) => limit !== 'labels' && limit !== 'args')
        .map(({ limit, before: was, now: is }) => ({
          limit,
          before: was ?? null,
          now: is ?? null,
        })),
    }
  }

  async #view(id: string, point: PointInput = {}): Promise<ViewedRun> {
    const { position, at } = point
    const key = `${id} ${position ?? ''} ${at ?? ''}`
    const overview = await this.#journal.overview(id)
    const isOver = overview.state === 'finished' || overview.state === 'cancelled'
    const isPast = position !== undefined || at !== undefined
    const kept = this.#kept.get(key)
    if (kept !== undefined) {
      const isComplete = isPast || kept.last === overview.rows[1]
      const isFresh = !isOver && kept.until > this.#clock.now()
      if ((isComplete && kept.isOver === isOver) || isFresh) {
        this.#kept.delete(key)
        this.#kept.set(key, kept)
        return kept.run
      }
    }
    const startedAt = this.#clock.now()
    const run = this.#read(overview, point)
    const reading: Kept = { run, nodes: 0, isOver, last: overview.rows[1], until: Infinity }
    this.#kept.delete(key)
    this.#kept.set(key, reading)
    try {
      const { record } = await run
      const took = this.#clock.now() - startedAt
      reading.nodes = record.nodes.length
      reading.last = record.rows[1]
      reading.until = this.#clock.now() + Math.min(2_000, 4 * took)
      this.#makeRoom()
      return await run
    } catch (error) {
      if (this.#kept.get(key) === reading) this.#kept.delete(key)
      throw error
    }
  }

  #makeRoom(): void {
    let nodes = 0
    for (const each of this.#kept.values()) nodes += each.nodes
    for (const [key, each] of this.#kept) {
      if (this.#kept.size <= recordsKept && nodes <= nodesKept) return
      if (this.#kept.size === 1) return
      this.#kept.delete(key)
      nodes -= each.nodes
    }
  }

  async #read({ id, startedAt }: RunOverview, { position, at }: PointInput): Promise<ViewedRun> {
    let upTo: Moment | undefined
    if (position !== undefined || at !== undefined) {
      const point = position === undefined ? { time: at! } : { position }
      upTo = await momentOf(this.#journal, { id, startedAt }, point)
    }
    const record = await readRecord(this.#journal, id, {
      now: this.#clock.wallTime(),
      log: false,
      ...(upTo !== undefined && { upTo }),
    })
    return {
      record,
      criticalPath: await criticalPathOf(timedNodes(record)),
      indexes: new Map(record.nodes.map(({ name }, index) => [name, index])),
    }
  }
}

function valueView(text: string, limit: number): NodeDetail['result'] {
  const bytes = Buffer.byteLength(text)
  if (bytes <= limit) return { bytes, json: JSON.parse(text) as unknown }
  return { bytes, head: text.slice(0, Math.min(limit, 1_024)) }
}

function inputView(input: InputRecord | undefined, limit: number): NodeDetail['input'] {
  if (input === undefined) return { bytes: null }
  const { text, isCut } = input
  if (isCut !== true) return valueView(text, limit)
  return { bytes: Buffer.byteLength(text), head: text.slice(0, limit), is_cut: true }
}
