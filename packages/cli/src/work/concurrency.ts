/** `--concurrency` of a worker: `4`, or `loop=50,thread=2`. */
import { InvalidArgumentError } from 'commander'
import type { WorkerConcurrency } from '@heddle/worker'
import { parseWhole } from '../arguments/whole-number.ts'
import { isCount } from './settings-file.ts'

const places: readonly string[] = ['loop', 'thread']
const parseCount = parseWhole(1, 1_024)

/** @throws InvalidArgumentError. */
export function parseWorkerConcurrency(text: string): WorkerConcurrency {
  if (!text.includes('=')) return parseCount(text)
  const found: Record<string, number> = {}
  for (const part of text.split(',')) {
    const [place = '', count = ''] = part.split('=')
    if (!places.includes(place) || place in found) {
      throw new InvalidArgumentError('Give a number, or one for each place: loop=50,thread=2.')
    }
    found[place] = parseCount(count)
  }
  return found
}

export function isWorkerConcurrency(value: unknown): boolean {
  if (isCount(value)) return true
  if (typeof value !== 'object' || value === null) return false
  return Object.entries(value).every(([place, count]) => places.includes(place) && isCount(count))
}
