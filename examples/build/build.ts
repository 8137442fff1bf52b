/** Runs tasks in the order of their dependencies. An output that was made from the same inputs before is restored. */
import { createHash } from 'node:crypto'
import { mkdir, readFile, writeFile } from 'node:fs/promises'
import path from 'node:path'
import { Graph, job, run, type NodeRef } from '@heddle/core'
import { diskTier, openCache, runCommand, type Cache } from '@heddle/core/lowlevel'
import type { Task } from './tasks.ts'

export interface BuildReport {
  /** Names of the tasks whose command has run. */
  readonly built: readonly string[]
  /** Names of the tasks whose output came from the cache. */
  readonly restored: readonly string[]
  readonly milliseconds: number
}

type Outcome = 'built' | 'restored'

/** @throws for the first task that failed, with its error as cause; tasks that need its output do not run. */
export async function build(folder: string, tasks: readonly Task[]): Promise<BuildReport> {
  await mkdir(path.join(folder, 'out'), { recursive: true })
  const tier = diskTier({ directory: path.join(folder, '.cache') })
  await using cache = await openCache<Uint8Array>({ tier })
  const graph = makeGraph(folder, tasks, cache)
  const result = await run(graph, { concurrency: { loop: 4 } })
  for (const [name, cause] of result.failed) throw new Error(`${name} was not built`, { cause })
  const names = (wanted: Outcome): string[] =>
    tasks.map(({ name }) => name).filter((name) => result.valueOf(name) === wanted)
  return { built: names('built'), restored: names('restored'), milliseconds: result.duration }
}

function makeGraph(folder: string, tasks: readonly Task[], cache: Cache<Uint8Array>): Graph {
  const graph = new Graph()
  const nodes = new Map<string, NodeRef<Outcome>>()
  const runTask = job({ name: 'task' }, async (task: Task, { signal }): Promise<Outcome> => {
    const output = path.join(folder, task.output)
    let outcome: Outcome = 'restored'
    const bytes = await cache.getOrCompute(
      await keyOf(folder, task),
      // Its own signal: aborted when no caller waits for the output any more.
      async ({ signal: unwanted }) => {
        outcome = 'built'
        await runCommand('sh', ['-c', task.command], { cwd: folder, signal: unwanted })
        return readFile(output)
      },
      { signal },
    )
    if (outcome === 'restored') await writeFile(output, bytes)
    return outcome
  })
  for (const task of tasks) {
    const after = task.after.map((name) => nodes.get(name)!)
    nodes.set(task.name, graph.add(task.name, runTask, { input: task, after }))
  }
  return graph
}

/** Another command or another content of an input makes another key. Dependencies have run, so their outputs are there. */
async function keyOf(folder: string, { command, inputs }: Task): Promise<string> {
  const hash = createHash('sha256').update(command)
  for (const file of inputs) {
    const content = await readFile(path.join(folder, file))
    hash.update(`\0${file}\0${content.length}\0`).update(content)
  }
  return hash.digest('hex')
}
