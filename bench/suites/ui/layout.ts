import type { Row } from '../../harness/row.ts'
import { load, type EdgesModule, type LayoutModule } from './parts.ts'

/** Items through four steps, put together at the end: the graph of a usual run. */
function fanOut(nodes: number): number[][] {
  const lists: number[][] = []
  while (lists.length < nodes - 1) lists.push(lists.length % 4 === 0 ? [] : [lists.length - 1])
  lists.push(lists.flatMap((_, node) => (node % 4 === 3 ? [node] : [])))
  return lists
}

function row(size: number): Row {
  return {
    name: `layout ${size.toLocaleString('en-US')} nodes`,
    measure: 'rate',
    unit: 'nodes/s',
    size,
    quickSize: size,
    warmUps: 1,
    warmUpSize: 1_000,
    rounds: 5,
    children: 2,
    entrants: {
      heddle: {
        role: 'ours',
        load: async () => {
          const { layOut } = await load<LayoutModule>('src/graph/layout.ts')
          const { edgesOf } = await load<EdgesModule>('src/graph/edges.ts')
          return {
            prepare: (count: number) => {
              const edges = edgesOf(fanOut(count))
              return async () => {
                layOut(edges)
              }
            },
          }
        },
      },
    },
  }
}

export const rows: readonly Row[] = [row(10_000), row(100_000)]
