/**
 * The view of a worker: its running jobs, its speed, when the server last answered, and why it gets nothing.
 *
 *     working      2 of 4 leases
 *       render     c-5b0f….3   40 of 100 units   12 s
 *     speed        3.4 units/s, 17 leases finished, 1 failed
 *     server       https://host:4500, last seen 2 s ago
 *     idle         job render needs capability gpu
 */
import type { WorkerEvent } from '@heddle/worker'
import { formatAge, formatCount, formatRate, formatRunning, plural } from '../text/format.ts'
import { span, type Line } from '../text/line.ts'
import { printable } from '../text/terminal-text.ts'

interface RunningLease {
  readonly job: string
  readonly since: number
  done: number
  size: number
}

/** What the worker says of itself. */
export interface WorkFigures {
  /** Milliseconds since the last answer of the server. */
  readonly silence: number
  /** Leases that it runs when every place is taken. */
  readonly places: number
}

/** Units are averaged over this many milliseconds. */
const window = 60_000
/** Milliseconds that trouble is shown, also when it has passed. */
const readable = 30_000
/** Leases that are listed. */
const listed = 8

export class WorkView {
  readonly #server: string
  readonly #running = new Map<string, RunningLease>()
  readonly #units: { readonly at: number; readonly count: number }[] = []
  #finished = 0
  #failed = 0
  #idle: string | undefined
  #trouble: { readonly text: string; readonly at: number } | undefined
  #isConnected = false
  #startedAt: number | undefined

  constructor(server: string) {
    this.#server = server
  }

  see(event: WorkerEvent, now: number): void {
    switch (event.kind) {
      case 'connected':
        this.#isConnected = true
        this.#trouble = undefined
        return
      case 'started':
        this.#startedAt ??= now
        this.#idle = undefined
        this.#running.set(event.lease, { job: event.job, since: now, done: 0, size: 0 })
        return
      case 'reported': {
        const lease = this.#running.get(event.lease)
        if (lease === undefined) return
        this.#units.push({ at: now, count: event.done - lease.done })
        lease.done = event.done
        lease.size = event.size
        return
      }
      case 'ended':
        this.#running.delete(event.lease)
        if (event.outcome === 'finished') this.#finished++
        else if (event.outcome.startsWith('failed')) this.#failed++
        return
      case 'idle':
        this.#idle = event.message
        return
      case 'trouble':
        this.#trouble = { text: event.message, at: now }
    }
  }

  lines(now: number, { silence, places }: WorkFigures): Line[] {
    const lines: Line[] = []
    const count = this.#running.size
    lines.push(row('working', `${count} of ${places} leases`, count > 0 ? 'green' : 'dim'))
    for (const [id, { job, since, done, size }] of [...this.#running].slice(0, listed)) {
      const units = size === 0 ? '' : `   ${formatCount(done)} of ${formatCount(size)} units`
      const text = `${printable(job)}   ${id}${units}   ${formatRunning(now - since)}`
      lines.push([span('  '), span(text)])
    }
    if (count > listed) lines.push([span(`  and ${count - listed} more`, 'dim')])
    lines.push(row('speed', this.#speed(now)))
    const heard = this.#isConnected ? `last seen ${formatAge(silence)} ago` : 'not reached yet'
    lines.push(row('server', `${printable(this.#server)}, ${heard}`))
    if (this.#idle !== undefined) lines.push(row('idle', printable(this.#idle), 'yellow'))
    const trouble = this.#troubleNow(now, silence)
    if (trouble !== undefined) lines.push(row('trouble', printable(trouble), 'yellow'))
    return lines
  }

  /** It is over when the server has answered since; people have some time to read it. */
  #troubleNow(now: number, silence: number): string | undefined {
    if (this.#trouble === undefined) return undefined
    const { text, at } = this.#trouble
    return now - at < readable || silence >= now - at ? text : undefined
  }

  #speed(now: number): string {
    while (this.#units.length > 0 && this.#units[0]!.at < now - window) this.#units.shift()
    const units = this.#units.reduce((sum, { count }) => sum + count, 0)
    const passed = Math.max(1_000, Math.min(window, now - (this.#startedAt ?? now)))
    const rate = units === 0 ? '' : `${formatRate((units / passed) * 1_000)} units, `
    const failed = this.#failed === 0 ? '' : `, ${formatCount(this.#failed)} failed`
    return `${rate}${plural(this.#finished, 'lease')} finished${failed}`
  }
}

function row(word: string, text: string, style?: 'green' | 'yellow' | 'dim'): Line {
  return [span(word.padEnd(12), 'dim'), span(text, style)]
}
