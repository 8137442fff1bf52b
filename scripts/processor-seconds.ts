import { readFileSync } from 'node:fs'

/** Seconds of processors that this process and its ended children have used; undefined where the system does not say so. */
export function processorSeconds(): number | undefined {
  try {
    const [, text = ''] = readFileSync('/proc/self/stat', 'utf8').split(') ')
    // utime, stime, cutime and cstime of proc(5), in hundredths of a second.
    const ticks = text.split(' ').slice(11, 15).map(Number)
    return ticks.reduce((sum, each) => sum + each, 0) / 100
  } catch {
    return undefined
  }
}
