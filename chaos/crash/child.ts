/**
 * One life of a run: starts or resumes it and says on file descriptor 3 what was acknowledged, until it
 * ends or is killed.
 */
import { writeSync } from 'node:fs'
import { isError, startRun } from '@heddle/core'
import { openJournal } from '@heddle/core/lowlevel'
import { setAsideCode } from '../growing/set-aside-code.ts'
import { makeGraph } from './graph.ts'
import { Trap, type TrapPlan } from './trap.ts'

export interface LifePlan {
  readonly journal: string
  readonly effects: string
  readonly seed: number
  readonly nodes: number
  readonly resume: boolean
  readonly trap?: TrapPlan
}

/** The line is in the pipe when this returns: a kill cannot take it back. */
function say(text: string): void {
  writeSync(3, `${text}\n`)
}

const plan = JSON.parse(process.argv[2]!) as LifePlan
const trap = new Trap(plan.trap)
const graph = makeGraph(plan.seed, plan.nodes, plan.effects)
trap.during('opening')
const journal = trap.set(await openJournal(plan.journal))
const { result } = await startRun(graph, {
  journal,
  resume: plan.resume,
  concurrency: 16,
  title: `crash test ${plan.seed}`,
  observer: (event) => {
    if (event.type !== 'node' || event.state !== 'succeeded') return
    say(event.name)
    trap.hit('acknowledged')
  },
})
const { ok, failed } = await result
await journal.stop()
const isOnlySetAside = [...failed.values()].every((error) => isError(error, 'HDL_NODE_SET_ASIDE'))
if (!ok && !isOnlySetAside) console.error(failed)
process.exit(ok ? 0 : isOnlySetAside ? setAsideCode : 1)
