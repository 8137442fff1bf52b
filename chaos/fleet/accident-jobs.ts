/** What workers of the accidents run: units that take a moment and cost little. */
import { setTimeout as sleep } from 'node:timers/promises'
import { job } from '@heddle/core'

interface Units {
  readonly input: { readonly ms: number }
  readonly count: number
}

export const unit = job({ name: 'unit', module: import.meta.url }, play)

export async function play({ input, count }: Units): Promise<number[]> {
  await sleep(input.ms)
  return [count]
}
