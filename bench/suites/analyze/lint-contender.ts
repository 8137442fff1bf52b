import type { Contender } from '../../harness/row.ts'
import type { Sources } from './sources.ts'
import { TreeMemory } from './tree-memory.ts'

/** Analyses everything and says how many problems it has found. */
export type Lint = (sources: Sources) => Promise<number>

export const memoryFigure = 'memory'

/** One run over the sources: lines per second, and the memory of all processes. */
export function lintContender(lint: Lint, sourcesOf: (lines: number) => Sources): Contender {
  return {
    prepare(lines) {
      const sources = sourcesOf(lines)
      return async () => {
        const memory = new TreeMemory()
        const started = performance.now()
        const found = await lint(sources)
        const seconds = (performance.now() - started) / 1000
        const most = memory.stop()
        process.stderr.write(`${found} findings in ${sources.lines} lines\n`)
        return () => ({ value: sources.lines / seconds, also: { [memoryFigure]: most } })
      }
    },
  }
}
