import path from 'node:path'
import { fileURLToPath } from 'node:url'
import { describeCollection, type LoopGap } from '@heddle/core/lowlevel'
import { printable } from '../text/terminal-text.ts'
import { isOurs } from './own-frames.ts'

/** Who held up the event loop, in one printable line, with files as seen from the current folder. */
export function describeGap(gap: LoopGap): string {
  if (gap.isCollection === true) return `the garbage collector, ${describeCollection(gap)}`
  // What a job calls of ours, ctx.log() for one, says less than where it calls it.
  const where = gap.stack.find((frame) => !isOurs(frame)) ?? gap.stack[0]
  if (gap.label === undefined && where === undefined) return 'no stack could be taken'
  const who = [gap.label, where === undefined ? undefined : shortenPaths(where)]
    .filter((part) => part !== undefined)
    .join(' at ')
  return printable(gap.certain ? who : `${who} (seen late: it may be what ran next)`)
}

/** File URLs and absolute paths below the current folder become relative. */
export function shortenPaths(text: string, folder: string = process.cwd()): string {
  const asPaths = text.replace(/file:\/\/\/[^\s:)]+/g, (url) => {
    try {
      return fileURLToPath(url)
    } catch {
      return url
    }
  })
  return asPaths.replaceAll(folder + path.sep, '')
}
