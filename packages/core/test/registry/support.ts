export { codeOf, gate, listenersOf, testKernel, turn, watch, withCode } from '../sync/support.ts'

/** All orders in which the steps of several actors can interleave, each keeping its own order. */
export function* interleavings(steps: readonly number[]): Generator<number[]> {
  if (steps.every((left) => left === 0)) {
    yield []
    return
  }
  for (const [actor, left] of steps.entries()) {
    if (left === 0) continue
    for (const rest of interleavings(steps.with(actor, left - 1))) yield [actor, ...rest]
  }
}
