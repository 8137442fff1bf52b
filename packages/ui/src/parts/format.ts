/** Numbers, durations and times as people read them. */

/** `840 ms`, `4.2 s`, `1 min 04 s`, `2 h 03 min`, `3 d 4 h`. */
export function formatDuration(milliseconds: number): string {
  const ms = Math.max(0, milliseconds)
  if (ms < 0.95) return ms === 0 ? '0 ms' : '< 1 ms'
  if (ms < 999.5) return `${Math.round(ms)} ms`
  const seconds = ms / 1_000
  if (seconds < 59.95) return `${seconds < 9.95 ? seconds.toFixed(1) : Math.round(seconds)} s`
  const whole = Math.round(seconds)
  if (whole < 3_600) return `${Math.floor(whole / 60)} min ${pad(whole % 60)} s`
  const minutes = Math.round(seconds / 60)
  if (minutes < 1_440) return `${Math.floor(minutes / 60)} h ${pad(minutes % 60)} min`
  const hours = Math.round(seconds / 3_600)
  return `${Math.floor(hours / 24)} d ${hours % 24} h`
}

/** `just now`, `12 s ago`, `4 min ago`, `3 h ago`, `2 d ago`. */
export function formatAge(at: number, now: number): string {
  const seconds = Math.round((now - at) / 1_000)
  if (seconds < 0) return `in ${span(-seconds)}`
  return seconds < 2 ? 'just now' : `${span(seconds)} ago`
}

/** `3 h earlier`, `2 d later`. */
export function formatDistance(at: number, than: number): string {
  const seconds = Math.round(Math.abs(than - at) / 1_000)
  return `${span(seconds)} ${at <= than ? 'earlier' : 'later'}`
}

function span(seconds: number): string {
  if (seconds < 60) return `${seconds} s`
  if (seconds < 3_600) return `${Math.round(seconds / 60)} min`
  if (seconds < 129_600) return `${Math.round(seconds / 3_600)} h`
  return `${Math.round(seconds / 86_400)} d`
}

const timeOfDay = new Intl.DateTimeFormat('en-GB', { timeStyle: 'medium' })
const exactTime = new Intl.DateTimeFormat('en-GB', {
  hour: '2-digit',
  minute: '2-digit',
  second: '2-digit',
  fractionalSecondDigits: 3,
})
const dayAndTime = new Intl.DateTimeFormat('en-GB', { dateStyle: 'medium', timeStyle: 'medium' })

const dayOfYear = new Intl.DateTimeFormat('en-GB', { day: 'numeric', month: 'short' })

/** Whether both are on one day, where the browser is. */
function isSameDay(a: number, b: number): boolean {
  return new Date(a).toDateString() === new Date(b).toDateString()
}

function withDay(time: string, at: number, near: number): string {
  return isSameDay(at, near) ? time : `${dayOfYear.format(at)}, ${time}`
}

/** `08:29:16`; `17 Nov, 08:29:16` on another day than `near`, which is what the reader takes for granted: now, or the start of a run. */
export function formatTime(at: number, near: number): string {
  return withDay(timeOfDay.format(at), at, near)
}

/** `08:29:16.042`: distinguishes lines of a log. */
export function formatTimeExactly(at: number, near: number): string {
  return withDay(exactTime.format(at), at, near)
}

/** Marks of an axis of time, in milliseconds: the first of another day than the one before it, or than `near`, is that day. */
export function formatTimeTicks(ticks: readonly number[], near: number): string[] {
  return ticks.map((at, i) =>
    isSameDay(at, ticks[i - 1] ?? near) ? timeOfDay.format(at) : dayOfYear.format(at),
  )
}

export function formatDateTime(at: number): string {
  return dayAndTime.format(at)
}

const integers = new Intl.NumberFormat('en-US', { maximumFractionDigits: 0 })

/** `12,480`. */
export function formatCount(count: number): string {
  return integers.format(count)
}

/** Formats a rate per second: `4.0`, `13,527`. */
export function formatRate(rate: number): string {
  return rate < 9.95 ? rate.toFixed(1) : formatCount(Math.round(rate))
}

/** `940 B`, `12.4 kB`, `3.1 MB`. */
export function formatBytes(bytes: number): string {
  if (bytes < 1_000) return `${bytes} B`
  const units = ['kB', 'MB', 'GB', 'TB']
  let value = bytes
  let unit = -1
  while (value >= 999.5 && unit < units.length - 1) {
    value /= 1_000
    unit++
  }
  return `${value < 9.95 ? value.toFixed(1) : Math.round(value)} ${units[unit]}`
}

/** `3.4 %`, `50 %`. Only the whole is 100 %: what is left of it may be what the reader waits for. */
export function formatPercent(fraction: number): string {
  if (fraction >= 0.995 && fraction < 1)
    return `${Math.min(99.9, Math.floor(fraction * 1_000) / 10)} %`
  return `${(fraction * 100).toFixed(fraction > 0 && fraction < 0.1 ? 1 : 0)} %`
}

/** `0.31`, `−2.94`, with the minus sign of figures. */
export function formatSigned(value: number): string {
  const text = Math.abs(value).toFixed(2)
  return value < 0 && Number(text) !== 0 ? `−${text}` : text
}

/** `1 node`, `12 nodes`. */
export function plural(count: number, one: string, many = `${one}s`): string {
  return `${formatCount(count)} ${count === 1 ? one : many}`
}

/** `01JQ8W…F3`: ids differ at their end. */
export function shortId(id: string): string {
  return id.length <= 12 ? id : `${id.slice(0, 6)}…${id.slice(-4)}`
}

function pad(value: number): string {
  return String(value).padStart(2, '0')
}

/** Ticks closer than their texts can tell have one text: the first of them carries it. */
export function labelsOf(ticks: readonly number[], format: (value: number) => string): string[] {
  const texts = ticks.map(format)
  return texts.map((text, i) => (text === texts[i - 1] ? '' : text))
}
