/** Heddle in the rows of transitions: a run's writer, as `run()` uses it. */
import { newRunId, openJournal } from '@heddle/core/lowlevel'
import type { OpenLedger, Step } from '../suites/journal/contract.ts'

const states = ['ready', 'running', 'succeeded'] as const

/** The result of a node: kept with its success. */
const result = 1

export const ledger: OpenLedger = async (address, durability) => {
  const journal = await openJournal(address, { durability })
  const writer = await journal.openRun({
    id: newRunId(),
    title: 'bench',
    startedAt: Date.now(),
    pid: process.pid,
    host: 'localhost',
    command: 'bench',
    options: {},
    nodes: [],
  })
  const transition = (node: string, step: Step) =>
    ({ node, state: states[step], attempt: 0, at: Date.now() }) as const
  return {
    append: (node, step) => writer.append(transition(node, step)),
    commit: (node, step) => writer.commit(transition(node, step), step === 2 ? result : undefined),
    [Symbol.asyncDispose]: () => journal.stop(),
  }
}
