/** A fan chart as SVG: what was read, and the bands of what may come. */
import { levels, type Fan } from './model.ts'

const stepWidth = 10
const height = 120
const margin = 4

export function fanChart(history: readonly number[], fan: Fan, title: string): string {
  const all = [...history, ...fan.flat()]
  const low = Math.min(...all)
  const scale = (height - 2 * margin) / (Math.max(...all) - low || 1)
  const point = (value: number, step: number): string =>
    `${step * stepWidth},${(height - margin - (value - low) * scale).toFixed(1)}`
  const now = history.length - 1
  // Each band begins where the readings end.
  const ray = (values: readonly number[]): string[] =>
    [history[now]!, ...values].map((value, i) => point(value, now + i))
  const bands: string[] = []
  for (let i = 0; i < Math.floor(levels.length / 2); i++) {
    const points = [...ray(fan[i]!), ...ray(fan.at(-1 - i)!).toReversed()].join(' ')
    bands.push(`<polygon points="${points}" fill="currentColor" opacity="0.18"/>`)
  }
  const middle = ray(fan[Math.floor(levels.length / 2)]!).join(' ')
  const past = history.map(point).join(' ')
  const width = (history.length + fan[0]!.length - 1) * stepWidth
  return (
    `<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 ${width} ${height}" fill="none" stroke-width="1.5">` +
    `<title>${escape(title)}</title>` +
    `<g color="#c2410c" stroke="none">${bands.join('')}</g>` +
    `<polyline points="${past}" stroke="#1f2937"/>` +
    `<polyline points="${middle}" stroke="#c2410c" stroke-dasharray="4 3"/></svg>`
  )
}

function escape(text: string): string {
  return text.replace(/[&<>"]/g, (sign) => `&#${sign.charCodeAt(0)};`)
}
