import { PGraph, type DependencyList, type PGraphNodeMap } from 'p-graph'
import { concurrency } from '../suites/engine/conditions.ts'
import type { PlayGraph } from '../suites/engine/contract.ts'

export const graph: PlayGraph = ({ names, after }, task, built) => {
  const nodes: PGraphNodeMap = new Map(names.map((name) => [name, { run: () => task(name) }]))
  const edges: DependencyList = after.flatMap((dependencies, index) =>
    dependencies.map((dependency): [string, string] => [names[dependency]!, names[index]!]),
  )
  const described = new PGraph(nodes, edges)
  built()
  return described.run({ concurrency })
}
