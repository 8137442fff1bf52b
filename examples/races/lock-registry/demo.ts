import { Answers, settle, type Seen } from '../stage.ts'
import type { add, totalOf } from './race.ts'

export async function demonstrate(module: {
  add: typeof add
  totalOf: typeof totalOf
}): Promise<Seen> {
  const audits = new Answers<void>()
  const adding = [module.add('house', 1, audits.ask), module.add('house', 10, audits.ask)]
  await settle()
  // The first one ends and takes the lock away; the second one, which waited for it, continues.
  audits.answer()
  await settle()
  adding.push(module.add('house', 100, audits.ask))
  await settle()
  const together = audits.open
  while (audits.open > 0) {
    audits.answer()
    await settle()
  }
  await Promise.all(adding)
  const total = module.totalOf('house')
  return {
    happened: total !== 111,
    what: `${together} held the lock at once; the total is ${total} of 111`,
  }
}
