import { Answers, settle, type Seen } from '../stage.ts'
import type { Rate } from './race.ts'

export async function demonstrate(module: {
  Rate: new (fetch: () => Promise<number>) => Pick<Rate, 'refresh' | 'value'>
}): Promise<Seen> {
  const market = new Answers<number>()
  const rate = new module.Rate(market.ask)
  const failing = rate.refresh().catch(() => undefined)
  market.fail(new Error('no connection'))
  await failing
  const next = rate.refresh()
  await settle()
  market.answer(1.25)
  await next
  return {
    happened: rate.value !== 1.25,
    what: `after one failure the rate is ${rate.value}, and it was asked for ${market.calls} times in 2 refreshes`,
  }
}
