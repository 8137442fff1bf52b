/**
 * Kills runs of the growing graph again and again, starts them again under their key, and looks at what is left.
 *
 * What must hold after every life:
 *  C1  What was in the journal before is there: no row is lost.
 *  C2  A node, an element or a step with a success in the journal is not started by a later life (G3).
 *  C3  At the end everything has succeeded, once, but the node that fails.
 *      A node, an element or a step that was set aside after three interruptions is counted, and finishes after a retry.
 *      A clean-up node stands once all its dependencies have succeeded; before that it follows every try of them, at most once
 *      in each life (decision 0185).
 *  C4  Every signal that was sent was delivered to exactly one wait (G9).
 *  C5  At the end the artifact is listed once, whole, and nothing else of it is left to count (F1).
 */
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { mkdir, readFile } from 'node:fs/promises'
import path from 'node:path'
import type { Readable } from 'node:stream'
import {
  openJournal,
  seededRandom,
  type HistoryEntry,
  type Journal,
  type NodeSnapshot,
  type Random,
} from '@heddle/core/lowlevel'
import type { GrowingPlan } from './child.ts'
import { setAsideCode } from './set-aside-code.ts'
import { artifactBytes, artifactName, cleanUps, flows, signalName, waitsOfFlow } from './graph.ts'

export interface GrowingOptions {
  readonly folder: string
  readonly seed: number
  readonly kills: number
  /** Makes the address of a journal for each run. */
  readonly journal: (name: string) => Promise<string>
  readonly onKill?: () => void
}

export interface GrowingReport {
  kills: number
  runs: number
  lives: number
  /** Nodes, elements and steps that succeeded. */
  successes: number
  starts: number
  /** Started in one life, not finished in it, and started again. */
  interrupted: number
  /** C2 broken. */
  startedAgain: number
  /** C1 broken. */
  lost: number
  signals: number
  /** Nodes, elements and steps that were set aside after three interruptions, and have finished after a retry. */
  setAside: number
  readonly problems: string[]
}

type LifeEnd = 'killed' | 'finished' | 'set aside' | 'failed' | 'hung'

function endOf(code: number | null, signal: NodeJS.Signals | null): LifeEnd {
  if (signal === 'SIGKILL') return 'killed'
  if (code === setAsideCode) return 'set aside'
  return code === 0 ? 'finished' : 'failed'
}

const program = path.join(import.meta.dirname, 'child.ts')
/** Milliseconds without a sign of life: a busy machine is not a defect. */
const longestSilence = 90_000
const mostLives = 300

export function emptyGrowingReport(): GrowingReport {
  return {
    kills: 0,
    runs: 0,
    lives: 0,
    successes: 0,
    starts: 0,
    interrupted: 0,
    startedAgain: 0,
    lost: 0,
    signals: 0,
    setAside: 0,
    problems: [],
  }
}

export async function killGrowingRuns(options: GrowingOptions): Promise<GrowingReport> {
  const report = emptyGrowingReport()
  const random = seededRandom(options.seed)
  await mkdir(options.folder, { recursive: true })
  while (report.problems.length === 0 && (report.kills < options.kills || report.runs === 0)) {
    const seed = Math.floor(random.next() * 2 ** 31)
    await new KilledRun(options, seed, report, random).toTheEnd()
    report.runs++
  }
  return report
}

class KilledRun {
  readonly #options: GrowingOptions
  readonly #report: GrowingReport
  readonly #random: Random
  readonly #seed: number
  readonly #effects: string
  #recorded: ReadonlySet<string> = new Set()
  #rows = 0
  #effectsSeen = 0
  #sent = 0
  #lives = 0
  /** Rows that say so. */
  #setAside = 0

  constructor(options: GrowingOptions, seed: number, report: GrowingReport, random: Random) {
    this.#options = options
    this.#report = report
    this.#random = random
    this.#seed = seed
    this.#effects = path.join(options.folder, `effects-${seed}.log`)
  }

  async toTheEnd(): Promise<void> {
    const address = await this.#options.journal(`growing-${this.#seed}`)
    let plan: GrowingPlan = {
      journal: address,
      key: 'growing',
      effects: this.#effects,
      seed: this.#seed,
    }
    const journal = await openJournal(address)
    try {
      for (let life = 0; life < mostLives; life++) {
        const { end, stderr } = await this.#live(plan, journal)
        this.#report.lives++
        this.#lives++
        if (end === 'killed') this.#report.kills++
        if (end === 'killed') this.#options.onKill?.()
        if (end === 'hung' || end === 'failed') {
          this.#wrong(`a life ${end}: ${stderr}${await describeOpen(journal)}`)
        }
        // One that was killed may have done nothing, and one without a retry may have answered with what was recorded before.
        const hasTried = end !== 'killed' && (plan.retry === true || this.#setAside === 0)
        if (end === 'set aside') plan = { ...plan, retry: true }
        const isOver = await this.#look(journal, hasTried)
        if (this.#report.problems.length > 0 || isOver) return
      }
      this.#wrong(`run not finished after ${mostLives} lives`)
    } finally {
      await journal.stop()
    }
  }

  #below(limit: number): number {
    return Math.floor(this.#random.next() * limit)
  }

  async #live(
    plan: GrowingPlan,
    journal: Journal,
  ): Promise<{ readonly end: LifeEnd; readonly stderr: string }> {
    const args = ['--conditions=heddle-source', program, JSON.stringify(plan)]
    const child = spawn(process.execPath, args, { stdio: ['ignore', 'inherit', 'pipe', 'pipe'] })
    const exited = once(child, 'exit') as Promise<[number | null, NodeJS.Signals | null]>
    let isHung = false
    const silence = setTimeout(() => {
      isHung = true
      child.kill('SIGKILL')
    }, longestSilence)
    const mayKill = this.#report.kills < this.#options.kills
    const killAfter = mayKill ? this.#below(14) : Infinity
    let seen = 0
    const kill = (): void => void setTimeout(() => child.kill('SIGKILL'), this.#below(12))
    // Before anything runs: while the journal opens, or while it waits for the lease of the life before.
    if (killAfter === 0) setTimeout(kill, this.#below(300))
    let stderr = ''
    child.stderr!.setEncoding('utf8').on('data', (text: string) => (stderr += text))
    const isOver = { value: false }
    const sending = this.#sendUntil(isOver, journal, mayKill ? kill : undefined)
    for await (const chunk of (child.stdio[3] as Readable).setEncoding('utf8')) {
      silence.refresh()
      seen += String(chunk).split('\n').length - 1
      if (seen >= killAfter) kill()
    }
    const [code, signal] = await exited
    isOver.value = true
    await sending
    clearTimeout(silence)
    return { end: isHung ? 'hung' : endOf(code, signal), stderr }
  }

  /** Sends signals, and kills it now and then: while it only waits for signals nothing is printed. */
  async #sendUntil(
    isOver: { readonly value: boolean },
    journal: Journal,
    kill: (() => void) | undefined,
  ): Promise<void> {
    while (!isOver.value) {
      await this.#sendSome(journal)
      await new Promise<void>((resolve) => setTimeout(resolve, 50))
      if (this.#sent > 0 && this.#below(60) === 0) kill?.()
    }
  }

  /** Sends a signal now and then, each once, also while no process runs the run. */
  async #sendSome(journal: Journal): Promise<void> {
    if (this.#sent >= flows * waitsOfFlow || this.#below(3) > 0) return
    const [found] = await journal.runs({ key: 'growing', limit: 1 })
    if (found === undefined) return
    const value = ++this.#sent
    await journal.post!(found.id, { kind: 'signal', name: signalName, value, by: 'chaos' })
    this.#report.signals++
  }

  /** True when the run is over. `hasTried`: the last life ran what was left, and ended by itself. */
  async #look(journal: Journal, hasTried: boolean): Promise<boolean> {
    const [run] = await journal.runs({ key: 'growing', limit: 1 })
    const history = run === undefined ? [] : await Array.fromAsync(journal.history(run.id))
    if (history.length < this.#rows) {
      this.#report.lost += this.#rows - history.length
      this.#wrong(`C1: ${this.#rows} rows are now ${history.length}`)
    }
    this.#rows = history.length
    await this.#checkStarts()
    const successes = history.flatMap(nameOfSuccess)
    const standing = standingCleanUps(
      run === undefined ? [] : (await journal.snapshot(run.id)).nodes,
    )
    const mayFollow = (name: string): boolean => cleanUps.has(name) && !standing.has(name)
    this.#recorded = new Set(successes.filter((name) => !mayFollow(name)))
    // On PostgreSQL a run is held until the lease of the process that was killed has run out.
    if (run === undefined || run.state !== 'finished') return false
    const { nodes } = await journal.snapshot(run.id)
    if (nodes.some(({ name, state }) => state === 'failed' && name !== 'bad')) {
      const aside = history.filter(isSetAside).length
      if (hasTried && aside === this.#setAside) {
        this.#wrong('C3: a node has failed, and nothing was set aside')
      }
      this.#report.setAside += aside - this.#setAside
      this.#setAside = aside
      return false
    }
    this.#report.successes += successes.length
    const twice = successes.filter(
      (name, index) => !cleanUps.has(name) && successes.indexOf(name) < index,
    )
    if (twice.length > 0) this.#wrong(`C3: succeeded twice: ${twice.join()}`)
    for (const name of cleanUps) {
      const times = successes.filter((each) => each === name).length
      if (times > this.#lives) this.#wrong(`C3: ${name} ran ${times} times in ${this.#lives} lives`)
    }
    await this.#checkEnd(journal, run.id)
    await this.#checkArtifact(journal, run.id)
    return true
  }

  /** C5 */
  async #checkArtifact(journal: Journal, run: string): Promise<void> {
    const store = journal.artifacts!
    const listed = (await store.list(run)).map(({ name, length }) => `${name} ${length}`).join()
    if (listed !== `${artifactName} ${artifactBytes}`) this.#wrong(`C5: artifacts: ${listed}`)
    try {
      for await (const _ of (await store.open(run, artifactName)).bytes) continue
    } catch (error) {
      this.#wrong(`C5: ${String(error)}`)
    }
  }

  async #checkStarts(): Promise<void> {
    const text = await readFile(this.#effects, 'utf8').catch(() => '')
    const lines = text.split('\n').slice(0, -1)
    for (const name of lines.slice(this.#effectsSeen)) {
      this.#report.starts++
      if (!this.#recorded.has(name)) continue
      this.#report.startedAgain++
      this.#wrong(`C2: ${name} has succeeded and was started again`)
    }
    this.#report.interrupted += lines.length - this.#effectsSeen
    this.#effectsSeen = lines.length
  }

  async #checkEnd(journal: Journal, id: string): Promise<void> {
    const { nodes } = await journal.snapshot(id)
    const open = nodes.filter(
      ({ name, state }) => state !== (name === 'bad' ? 'failed' : 'succeeded'),
    )
    if (open.length > 0)
      this.#wrong(`C3: ${open.map(({ name, state }) => `${name} ${state}`).join()}`)
    const received: unknown[] = []
    for (let index = 0; index < flows; index++) {
      const value = (await journal.valueOf(id, `flow ${index}`)) as unknown[]
      received.push(...(value.at(-1) as unknown[]))
    }
    const expected = Array.from({ length: flows * waitsOfFlow }, (_, index) => index + 1)
    const sorted = (received as number[]).toSorted((a, b) => a - b)
    if (sorted.join() !== expected.join()) this.#wrong(`C4: received ${sorted.join()}`)
    const effects = await readFile(this.#effects, 'utf8')
    const all = new Set(effects.split('\n').slice(0, -1))
    this.#report.interrupted -= all.size
  }

  #wrong(what: string): void {
    this.#report.problems.push(`seed ${this.#seed}: ${what}`)
  }
}

/** The unfinished parts of a run, and the last rows. */
async function describeOpen(journal: Journal): Promise<string> {
  const [run] = await journal.runs({ key: 'growing', limit: 1 })
  if (run === undefined) return 'there is no run'
  const { nodes, state } = await journal.snapshot(run.id)
  const open = nodes.filter(({ state: each }) => !isEnd.has(each))
  const rows = (await Array.fromAsync(journal.history(run.id))).slice(-12)
  return [
    `the run is ${state}, now ${new Date().toISOString()}`,
    ...open.map(({ name, state: each }) => `${name} ${each}`),
    ...rows.map((row) => JSON.stringify(row)),
  ].join('\n  ')
}

const isEnd: ReadonlySet<string> = new Set([
  'succeeded',
  'failed',
  'blocked',
  'skipped',
  'cancelled',
])

/** Clean-up nodes whose dependencies have all succeeded before them. */
function standingCleanUps(nodes: readonly NodeSnapshot[]): ReadonlySet<string> {
  const succeeded = new Set(
    nodes.flatMap(({ name, state }) => (state === 'succeeded' ? [name] : [])),
  )
  return new Set(
    nodes.flatMap(({ name, after }) =>
      cleanUps.has(name) && succeeded.has(name) && after.every((each) => succeeded.has(each))
        ? [name]
        : [],
    ),
  )
}

/** Not those that failed with the error of a step that was set aside. */
function isSetAside(row: HistoryEntry): boolean {
  if ((row.kind !== 'node' && row.kind !== 'part') || row.state !== 'failed') return false
  const { code, message } = row.error ?? {}
  return code === 'HDL_NODE_SET_ASIDE' && message!.startsWith(`"${nameOf(row)}" was set aside`)
}

function nameOfSuccess(row: HistoryEntry): string[] {
  if (row.kind !== 'node' && row.kind !== 'part') return []
  return row.state === 'succeeded' ? [nameOf(row)] : []
}

function nameOf(row: HistoryEntry & { readonly kind: 'node' | 'part' }): string {
  if (row.kind === 'node') return row.node
  const { path: part } = row.part
  return `${row.node}${part.startsWith('[') ? '' : ' '}${part}`
}
