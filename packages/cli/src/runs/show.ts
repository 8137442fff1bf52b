/** `heddle runs show`: one run, as it stands or as it stood at any point of its history. */
import { HeddleError } from '@heddle/core'
import {
  criticalPathOf,
  momentOf,
  type NodeRecord,
  outcomeOf,
  queueTime,
  readInput,
  readRecord,
  type RunRecord,
  runTime,
  suggest,
  timedNodes,
  redactValue,
  toJsonText,
} from '@heddle/core/lowlevel'
import { exitCodes, type ExitCode } from '../exit-codes.ts'
import { findNamedRun } from '../journal/find-named-run.ts'
import { historyLines, readHistory } from './history-view.ts'
import { withJournal, type JournalContext, type JournalCommandSettings } from './with-journal.ts'
import { nodeLines } from './node-view.ts'
import type { Point } from '@heddle/core/lowlevel'
import { logLines, showLines, type ShowInput } from './show-view.ts'

export interface ShowSettings extends JournalCommandSettings {
  readonly run: string
  readonly at: Point | undefined
  readonly node: string | undefined
  /** The node whose result is wanted, and nothing else. */
  readonly value: string | undefined
  readonly logs: boolean
  readonly history: boolean
  readonly all: boolean
}

/** *Cancellation*: none; it reads the current state. */
export function showRun(settings: ShowSettings): Promise<void> {
  return withJournal(settings, async (surface): Promise<ExitCode> => {
    const { journal } = surface
    const found = await findNamedRun(journal, settings.run)
    const upTo = settings.at === undefined ? undefined : await momentOf(journal, found, settings.at)
    const record = await readRecord(journal, found.id, {
      now: surface.now,
      log: settings.logs || settings.node !== undefined,
      ...(upTo !== undefined && { upTo }),
    })
    if (settings.value !== undefined) return showValue(record, settings.value, surface)
    const criticalPath = await criticalPathOf(timedNodes(record))
    const input: ShowInput = { record, criticalPath, isPast: upTo !== undefined, surface }
    const node = settings.node === undefined ? undefined : nodeOf(record, settings.node)
    const made = node && (await readInput(journal, record.id, node))
    const rows = settings.history ? await readHistory(journal, record, node?.name) : undefined
    const log =
      settings.logs || node !== undefined
        ? record.log.filter((line) => node === undefined || line.node === node.name)
        : undefined
    if (surface.json) {
      const nodes = node === undefined ? record.nodes : [node]
      const { log: _log, nodes: _nodes, ...run } = record
      surface.answer({
        ok: true,
        ...run,
        outcome: outcomeOf(record),
        criticalPath: { length: criticalPath.length, path: criticalPath.path },
        nodes: nodes.map((each) => ({
          ...each,
          queued: queueTime(each, record.until),
          ran: runTime(each),
          slack: criticalPath.slackOf(each.name) ?? null,
          ...(made !== undefined && { recordedInput: made }),
        })),
        ...(log !== undefined && { log }),
        ...(rows !== undefined && { history: rows }),
      })
      return exitCodes.ok
    }
    surface.printLines(
      node === undefined ? showLines(input, settings.all) : nodeLines(node, input, made),
    )
    if (log !== undefined) surface.printLines(logLines(log, input))
    if (rows !== undefined) surface.printLines(historyLines(rows, input))
    return exitCodes.ok
  })
}

function nodeOf({ nodes }: RunRecord, name: string): NodeRecord {
  const found = nodes.find((node) => node.name === name)
  if (found !== undefined) return found
  const suggestion = suggest(
    name,
    nodes.map((node) => node.name),
  )
  throw new HeddleError('HDL_UNKNOWN_NODE', { node: name, suggestion })
}

/** Nothing but the value goes to standard output: it is for another program. */
async function showValue(
  record: RunRecord,
  name: string,
  surface: JournalContext,
): Promise<ExitCode> {
  const node = nodeOf(record, name)
  if (!node.hasValue) throw new HeddleError('HDL_NO_RESULT', { node: name, state: node.state })
  const value = redactValue(await surface.journal.valueOf(record.id, name), node.redact)
  if (surface.json)
    surface.print(`{"ok":true,"node":${JSON.stringify(name)},"value":${toJsonText(value)}}\n`)
  else surface.print(`${toJsonText(value, 2)}\n`)
  return exitCodes.ok
}
