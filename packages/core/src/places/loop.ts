import { isWatching, runBlamed } from '../watch/blame.ts'
import type { Place } from './place.ts'

const onLoop = { place: 'loop' } as const

/** Calls the job right here. A loop gap it causes is blamed on it by name while a watch is running. */
export const loopPlace: Place = {
  permitsOf: () => onLoop,
  run: (job, input, context) =>
    isWatching()
      ? runBlamed(`job "${context.name}"`, () => job.run(input, context))
      : job.run(input, context),
}
