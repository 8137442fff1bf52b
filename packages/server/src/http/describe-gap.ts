import { describeCollection, type LoopGap } from '@heddle/core/lowlevel'

/**
 * How long the loop was blocked, and by which route, job or code. A culprit seen after uninterruptible native code
 * may be innocent, such as a request that happened to come next: the text says so.
 */
export function describeGap(gap: LoopGap): string {
  const { ms, label, stack, certain } = gap
  if (gap.isCollection === true) {
    return `the event loop was blocked for ${Math.round(ms)} ms by the garbage collector (${describeCollection(gap)})`
  }
  const who = label ?? stack[0]
  const blame = who === undefined || certain ? who : `${who} (seen late: it may be what ran next)`
  return `the event loop was blocked for ${Math.round(ms)} ms by ${blame ?? 'unknown code'}`
}
