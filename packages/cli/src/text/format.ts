/** Numbers and errors as people read them. */
import { describe } from '@heddle/core/lowlevel'

/** `340 ms`, `3.4 s`, `42 s`, `1 min 05 s`, `2 h 05 min`. */
export function formatDuration(ms: number): string {
  if (!Number.isFinite(ms)) return 'no limit'
  if (ms < 1_000) return `${Math.round(ms)} ms`
  if (ms < 9_950) return `${(ms / 1_000).toFixed(1)} s`
  return formatAge(ms)
}

/** Like {@link formatDuration}, in whole seconds: for values that are shown while they grow. */
export function formatAge(ms: number): string {
  const seconds = Math.max(0, Math.round(ms / 1_000))
  if (seconds < 60) return `${seconds} s`
  if (seconds < 3_600) return `${Math.floor(seconds / 60)} min ${twoDigits(seconds % 60)} s`
  const minutes = Math.round(seconds / 60)
  return `${Math.floor(minutes / 60)} h ${twoDigits(minutes % 60)} min`
}

/** The remaining time of a run, after another figure; `Infinity` for an unknown end. */
export function formatRemaining(ms: number): string {
  return ms === Infinity ? ', end not known' : `, about ${formatAge(Math.max(1_000, ms))} left`
}

/** Like {@link formatAge}, with tenths of a second up to a minute: for running work. */
export function formatRunning(ms: number): string {
  return ms < 59_950 ? `${Math.max(0, ms / 1_000).toFixed(1)} s` : formatAge(ms)
}

/** Things per second: `31/s`, `4.2/s`, `12,500/s`. */
export function formatRate(perSecond: number): string {
  return `${perSecond < 9.95 ? perSecond.toFixed(1) : formatCount(Math.round(perSecond))}/s`
}

function twoDigits(n: number): string {
  return String(n).padStart(2, '0')
}

const grouped = new Intl.NumberFormat('en')

/** `12,345`. */
export function formatCount(n: number): string {
  return grouped.format(n)
}

/** `1 job`, `2 jobs`. */
export function plural(n: number, one: string, many = `${one}s`): string {
  return `${formatCount(n)} ${n === 1 ? one : many}`
}

/** `12 kB`, `3.4 MB`. */
export function formatBytes(bytes: number): string {
  const units = ['B', 'kB', 'MB', 'GB', 'TB']
  let unit = 0
  let amount = bytes
  for (; amount >= 1000 && unit < units.length - 1; unit++) amount /= 1000
  return `${unit === 0 || amount >= 10 ? Math.round(amount) : amount.toFixed(1)} ${units[unit]}`
}

const timeOfDay = new Intl.DateTimeFormat('en-GB', { timeStyle: 'medium' })
/** The last answer: many lines are printed in one second, and formatting a time takes 1.5 µs. */
let lastTime = { second: NaN, text: '' }

/** Local time of a wall time: `15:04:05`. */
export function formatTime(wallTime: number): string {
  const second = Math.floor(wallTime / 1_000)
  if (second !== lastTime.second) lastTime = { second, text: timeOfDay.format(second * 1_000) }
  return lastTime.text
}

/** The message of an error in one line, with its class where that says more than `Error`. */
export function formatError(error: unknown): string {
  if (!(error instanceof Error)) return describe(error)
  if (error.message === '') return describe(error)
  const { name, message } = error
  return name === 'Error' || name === 'HeddleError' ? message : `${name}: ${message}`
}

/**
 * Like {@link formatError}, with the underlying cause: `TypeError: fetch failed (connect
 * ECONNREFUSED 127.0.0.1:9)`.
 */
export function formatErrorWithCause(error: unknown): string {
  const text = formatError(error)
  const cause = error instanceof Error ? error.cause : undefined
  if (!(cause instanceof Error) || cause.message === '' || text.includes(cause.message)) return text
  return `${text} (${formatError(cause)})`
}
