/**
 * Kills runs again and again, resumes them, and looks each time at what is left.
 *
 *   a graph of its own ──▶ life ──killed──▶ checked ──▶ life ──killed──▶ … ──▶ finished, checked ──▶ the next graph
 *
 * What must hold after every life, whenever and wherever it was killed:
 *  C1  What was acknowledged is in the journal, with exactly the value it must have (law 6).
 *  C2  A node with a success in the journal is not started by a later life (R1).
 *  C3  A node starts only when everything it is made from is in the journal.
 *  C4  A success in the journal has had its effect.
 *  C5  Rows are never changed, removed or moved: the history before is the beginning of the history now.
 *  C6  Positions grow by themselves and over all runs; no run id is used twice.
 *  C7  At the end every node has exactly one success (R2), and the run is finished. A run with nodes that were set aside
 *      (running at three kills) is counted, and finishes when it is resumed once more.
 */
import { mkdir } from 'node:fs/promises'
import path from 'node:path'
import { isDeepStrictEqual } from 'node:util'
import { seededRandom, type Random } from '@heddle/core/lowlevel'
import type { LifePlan } from './child.ts'
import {
  isNotThereYet,
  readEffects,
  readJournal,
  type Evidence,
  type RunEvidence,
} from './evidence.ts'
import { expectedValues, type Expected } from './graph.ts'
import { live, type Life } from './life.ts'
import { moments, type TrapPlan } from './trap.ts'

export interface CampaignOptions {
  readonly folder: string
  readonly seed: number
  /** Lives that end by SIGKILL. */
  readonly kills: number
  /** Nodes of each graph. */
  readonly nodes: number
  /** Called with each life. */
  readonly onLife?: (life: Life, how: string) => void
}

export interface CrashReport {
  kills: number
  resumes: number
  runs: number
  nodes: number
  successes: number
  /** C2 broken. */
  startedAgain: number
  /** C1 broken. */
  lost: number
  starts: number
  effects: number
  /** Effects of nodes that were running at a kill, and ran again. */
  repeated: number
  /** Lives that ended with nodes set aside. */
  setAside: number
  /** Everything that was wrong, in words. */
  readonly problems: string[]
}

export function emptyReport(): CrashReport {
  return {
    kills: 0,
    resumes: 0,
    runs: 0,
    nodes: 0,
    successes: 0,
    startedAgain: 0,
    lost: 0,
    starts: 0,
    effects: 0,
    repeated: 0,
    setAside: 0,
    problems: [],
  }
}

/** Lives of one run that make no progress before something must be wrong with it. */
const mostLives = 200

export async function campaign(options: CampaignOptions): Promise<CrashReport> {
  const report = emptyReport()
  const random = seededRandom(options.seed)
  await mkdir(options.folder, { recursive: true })
  const used = { ids: new Set<string>(), position: 0 }
  while (report.problems.length === 0 && (report.kills < options.kills || report.runs === 0)) {
    const seed = Math.floor(random.next() * 2 ** 31)
    const run = new KilledRun({ ...options, seed }, report, random, used)
    await run.toTheEnd()
    report.runs++
  }
  return report
}

interface Used {
  readonly ids: Set<string>
  /** The last position of all runs before. */
  position: number
}

class KilledRun {
  readonly #options: CampaignOptions
  readonly #report: CrashReport
  readonly #random: Random
  readonly #used: Used
  readonly #file: string
  readonly #effects: string
  readonly #expected: ReadonlyMap<string, Expected>
  readonly #acknowledged = new Set<string>()
  /** The rows of the journal after the last life. */
  #rows: readonly string[] = []
  #recorded: ReadonlySet<string> = new Set()
  #effectsSeen = 0

  constructor(options: CampaignOptions, report: CrashReport, random: Random, used: Used) {
    this.#options = options
    this.#report = report
    this.#random = random
    this.#used = used
    this.#file = path.join(options.folder, 'runs.db')
    this.#effects = path.join(options.folder, `effects-${options.seed}.log`)
    this.#expected = expectedValues(options.seed, options.nodes)
  }

  async toTheEnd(): Promise<void> {
    let resume = false
    for (let lives = 0; lives < mostLives; lives++) {
      const { plan, killAfter, how } = this.#nextLife(resume)
      const life = await live(plan, killAfter === undefined ? {} : { killAfter })
      this.#options.onLife?.(life, how)
      if (resume) this.#report.resumes++
      if (life.end === 'killed') this.#report.kills++
      if (life.end === 'failed' || life.end === 'hung') {
        this.#wrong(`a life ${life.end} (${how}): ${life.stderr || 'without a word'}`)
      }
      const run = await this.#look(life)
      if (this.#report.problems.length > 0) return
      if (life.end === 'set aside') this.#report.setAside++
      else if (run?.state === 'finished') return this.#conclude(run)
      resume = run !== undefined
    }
    this.#wrong(`run not finished after ${mostLives} lives`)
  }

  #below(limit: number): number {
    return Math.floor(this.#random.next() * limit)
  }

  /** When and how the next life is to end; the last ones are left alone. */
  #nextLife(resume: boolean): { plan: LifePlan; killAfter?: number; how: string } {
    const { seed, nodes, kills } = this.#options
    const base = { journal: this.#file, effects: this.#effects, seed, nodes, resume }
    if (this.#report.kills >= kills) return { plan: base, how: 'left alone' }
    const count = 1 + this.#below(Math.ceil(nodes / 8))
    if (this.#below(4) === 0) {
      // A resumed run first reports the nodes that it did not have to run.
      const killAfter = this.#recorded.size + count
      return { plan: base, killAfter, how: `killed from outside after ${count} more nodes` }
    }
    const trap = this.#trap(count)
    return { plan: { ...base, trap }, how: `killed itself: ${trap.moment} ${trap.count}` }
  }

  #trap(count: number): TrapPlan {
    const isNearEnd = this.#recorded.size > 0.8 * this.#options.nodes
    // A trap at the end does not spring before: it is set only when the run is nearly done.
    const possible = isNearEnd ? moments : moments.filter((moment) => moment !== 'closing')
    const moment = possible[this.#below(possible.length)]!
    if (moment === 'opening') return { moment, count: 1, delay: this.#below(80) }
    if (moment === 'closing') return { moment, count: 1, delay: this.#below(5) }
    const delay = this.#below(3) === 0 ? this.#random.next() * 3 : 0
    if (moment === 'acknowledged') return { moment, count: this.#recorded.size + count, delay }
    return { moment, count: moment.endsWith('append') ? count * 2 : count, delay }
  }

  async #look(life: Life): Promise<RunEvidence | undefined> {
    for (const name of life.acknowledged) this.#acknowledged.add(name)
    let evidence: Evidence
    try {
      evidence = await readJournal(this.#file, (succeeded) =>
        [...succeeded].filter((name) => !this.#recorded.has(name)),
      )
    } catch (error) {
      if (this.#acknowledged.size > 0 || this.#used.ids.size > 0 || !isNotThereYet(error))
        throw error
      return undefined
    }
    const { last } = evidence
    // Killed before its first row: the newest run is the one before.
    const run = last === undefined || this.#used.ids.has(last.id) ? undefined : last
    this.#checkIds(evidence, run)
    this.#checkRows(run)
    this.#checkValues(run)
    await this.#checkEffects(life, run)
    this.#recorded = new Set(run?.successes.keys())
    return run
  }

  #checkIds({ ids }: Evidence, run: RunEvidence | undefined): void {
    const expected = this.#used.ids.size + (run === undefined ? 0 : 1)
    if (new Set(ids).size !== ids.length || ids.length !== expected) {
      this.#wrong(`C6: ${ids.length} runs are in the journal, not ${expected}`)
    }
  }

  #checkRows(run: RunEvidence | undefined): void {
    const rows = run?.rows.map((row) => JSON.stringify(row)) ?? []
    const changed = this.#rows.findIndex((row, i) => row !== rows[i])
    if (changed >= 0) {
      this.#wrong(`C5: row ${changed} was ${this.#rows[changed]}, is ${rows[changed]}`)
    }
    let position = this.#used.position
    for (const row of run?.rows ?? []) {
      if (row.position <= position) this.#wrong(`C6: position ${row.position} after ${position}`)
      ;({ position } = row)
    }
    this.#rows = rows
  }

  #checkValues(run: RunEvidence | undefined): void {
    for (const name of this.#acknowledged) {
      if (run?.successes.has(name) === true) continue
      this.#report.lost++
      this.#wrong(`C1: ${name} was acknowledged and is not in the journal`)
    }
    for (const [name, value] of run?.values ?? []) {
      if (isDeepStrictEqual(value, this.#expected.get(name)?.value)) continue
      this.#report.lost++
      this.#wrong(`C1: ${name} has another value than it must have`)
    }
    for (const [name, count] of run?.successes ?? []) {
      if (count > 1) this.#wrong(`C7: ${name} has ${count} successes`)
    }
  }

  async #checkEffects(life: Life, run: RunEvidence | undefined): Promise<void> {
    const effects = await readEffects(this.#effects)
    const recorded = run?.successes
    for (const { what, pid, node } of effects.slice(this.#effectsSeen)) {
      if (pid !== life.pid) this.#wrong(`an effect of process ${pid}, which is not alive`)
      if (what === 'end') continue
      this.#report.starts++
      if (this.#recorded.has(node)) {
        this.#report.startedAgain++
        this.#wrong(`C2: ${node} was started again`)
      }
      for (const dependency of this.#expected.get(node)!.after) {
        if (recorded?.has(dependency) === true) continue
        this.#wrong(`C3: ${node} was started, ${dependency} is not in the journal`)
      }
    }
    const done = new Set(effects.flatMap(({ what, node }) => (what === 'end' ? [node] : [])))
    for (const name of recorded?.keys() ?? []) {
      if (!done.has(name)) this.#wrong(`C4: ${name} is in the journal and has had no effect`)
    }
    this.#effectsSeen = effects.length
  }

  async #conclude(run: RunEvidence): Promise<void> {
    const { nodes } = this.#options
    if (run.successes.size !== nodes) {
      this.#wrong(`C7: ${run.successes.size} of ${nodes} nodes have succeeded`)
    }
    const ends = (await readEffects(this.#effects)).filter(({ what }) => what === 'end').length
    this.#report.nodes += nodes
    this.#report.successes += [...run.successes.values()].reduce((sum, count) => sum + count, 0)
    this.#report.effects += ends
    this.#report.repeated += ends - nodes
    this.#used.ids.add(run.id)
    this.#used.position = run.rows.at(-1)!.position
  }

  #wrong(problem: string): void {
    this.#report.problems.push(`seed ${this.#options.seed}: ${problem}`)
  }
}
