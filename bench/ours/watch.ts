import { cpSync, readFileSync, rmSync, symlinkSync, writeFileSync, mkdtempSync } from 'node:fs'
import os from 'node:os'
import path from 'node:path'
import { AnalysisCache, analyze } from '@heddle/analyze'
import type { Contender } from '../harness/row.ts'
import { median } from '../harness/statistics.ts'
import { typedSources, type Sources } from '../suites/analyze/sources.ts'
import { TreeMemory } from '../suites/analyze/tree-memory.ts'

const edits = 15

/** Edits copies, so that the corpus stays as it is. */
function copied(sources: Sources): Sources {
  const root = mkdtempSync(path.join(os.tmpdir(), 'heddle-bench-watch-'))
  process.once('exit', () => rmSync(root, { recursive: true, force: true }))
  cpSync(path.join(sources.root, 'src'), path.join(root, 'src'), { recursive: true })
  for (const name of ['tsconfig.json', 'package.json']) {
    cpSync(path.join(sources.root, name), path.join(root, name))
  }
  symlinkSync(path.join(sources.root, 'node_modules'), path.join(root, 'node_modules'))
  const files = sources.files.map((file) => path.join(root, path.relative(sources.root, file)))
  return { root, files, lines: sources.lines }
}

export const contender: Contender = {
  async prepare(size) {
    const { root, files } = copied(typedSources(size))
    const cache = new AnalysisCache()
    const run = async (): Promise<void> => {
      const { stats } = await analyze({ root, files, types: 'auto', cache })
      if (stats.types === 'none') throw new Error('the types were lost')
    }
    /** The usual time of an edit of different files, one after the other. */
    const time = async (edit: (text: string, number: number) => string): Promise<number> => {
      const times: number[] = []
      for (let number = 0; number < edits; number++) {
        const file = files[(number * 7) % files.length]!
        const text = readFileSync(file, 'utf8')
        writeFileSync(file, edit(text, number))
        const started = performance.now()
        await run()
        times.push(performance.now() - started)
      }
      return median(times)
    }
    return async () => {
      const memory = new TreeMemory()
      await run()
      const inside = await time((text, number) => text.replace(/\) \{\n/, `) { void ${number};\n`))
      const declared = await time((text, number) => `${text}\nexport const added${number} = 1\n`)
      const most = memory.stop()
      await cache.close()
      return () => ({
        value: inside,
        also: { 'a declaration edited': declared, memory: most },
      })
    }
  },
}
