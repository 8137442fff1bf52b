/** What `heddle serve` says: lines with the time for people, one object per line for programs. */
import type { Clock } from '@heddle/core/lowlevel'
import type { Drained, Server, ServerLog, ServerStats } from '@heddle/server'
import { shortenPaths } from '../output/gap.ts'
import { errorRecord } from '../output/error-record.ts'
import type { Printer } from '../output/printer.ts'
import { errorLines } from '../output/report-error.ts'
import { formatDuration, formatTime, plural } from '../text/format.ts'
import { span, type Line, type Style } from '../text/line.ts'
import { printable } from '../text/terminal-text.ts'

/** What is under way when a server begins to drain. */
export type Remaining = Pick<ServerStats, 'works' | 'registry'>

/** The address of a server, and names of what it serves: at least one. */
type Listening = Pick<Server, 'url' | 'jobs' | 'graphs' | 'schedules'>

export class Narrator {
  readonly #printer: Printer
  readonly #clock: Clock

  constructor(printer: Printer, clock: Clock) {
    this.#printer = printer
    this.#clock = clock
  }

  listening({ url, jobs, graphs, schedules }: Listening, store: string): void {
    const lists = [
      ['job', jobs],
      ['graph', graphs],
      ['schedule', schedules],
    ] as const
    const [first, ...others] = lists.filter(([, names]) => names.length > 0)
    const what = [
      `${countOf(first!)} on ${url}: ${first![1].join(', ')}`,
      ...others.map((each) => `${countOf(each)}: ${each[1].join(', ')}`),
      `store ${shortenPaths(store)}`,
    ]
    this.#say('serving', what.join('; '), 'green')
    this.#say('dashboard', `${url}/ui/`, 'green')
    this.#printObject({ type: 'listening', url, jobs, graphs, schedules, store })
  }

  log({ level, text }: ServerLog): void {
    this.#say(
      level === 'warning' ? 'warning' : 'log',
      text,
      level === 'warning' ? 'yellow' : undefined,
    )
    this.#printObject({ type: 'log', level, text })
  }

  draining(by: string, deadline: number, { works, registry }: Remaining): void {
    const waiting = registry.active
    const rest =
      works + waiting === 0
        ? 'nothing is under way'
        : `${plural(works, 'result')} under way, ${plural(waiting, 'request')} waiting`
    const limit = Number.isFinite(deadline) ? `at most ${formatDuration(deadline)}` : 'no limit'
    this.#say('draining', `(${by}): ${rest}; ${limit}; again: stop at once`, 'yellow')
    // Infinity is not JSON.
    const finite = Number.isFinite(deadline) ? deadline : null
    this.#printObject({ type: 'draining', by, works, waiting, deadline: finite })
  }

  hurrying(by: string): void {
    this.#say('stopping', `at once (${by})`, 'yellow')
    this.#printObject({ type: 'stopping', by })
  }

  stopped({ isClean, isStoreFailed = false }: Drained, isDurable: boolean): void {
    const cut = isDurable
      ? 'work was cut off; acknowledged jobs run after the next start'
      : 'work was cut off'
    const lost =
      'the store could not be written; acknowledged jobs may run again after the next start'
    const end = isClean ? 'everything that was admitted has ended' : isStoreFailed ? lost : cut
    this.#say('stopped', end)
    this.#printObject({ ok: isClean, type: 'stopped' })
  }

  /** The server could not start, or not stop as it should. */
  failed(error: unknown, hint: string | undefined): void {
    const lines = errorLines(error)
    if (hint !== undefined) lines.push([span(`        ${hint}`)])
    this.#printer.printErrorLines(lines)
    this.#printObject({ ok: false, type: 'stopped', error: errorRecord(error) })
  }

  crashed(error: unknown): void {
    this.#printer.printErrorLines(
      errorLines(error, 'an error that no job has caught ends the server: '),
    )
    this.#printObject({ type: 'error', error: errorRecord(error) })
  }

  #printObject(object: object): void {
    this.#printer.answer({ ...object, at: this.#clock.wallTime() })
  }

  /** Prints for people who read a terminal or a log; programs get the object instead. */
  #say(word: string, text: string, style?: Style): void {
    const line: Line = [
      span(`${formatTime(this.#clock.wallTime())} `, 'dim'),
      span(word.padEnd(9), style),
      span(` ${printable(text)}`),
    ]
    if (!this.#printer.isForPrograms) this.#printer.printLines([line])
  }
}

function countOf([word, names]: readonly [word: string, names: readonly string[]]): string {
  return plural(names.length, word)
}
