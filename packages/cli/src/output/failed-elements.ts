/** Elements that failed in maps that succeeded: `failures: 'collect'` and `{ atMost }` say nothing of them by themselves. */
import type { ElementError, ElementResult, Graph, GraphResult, MapCounts } from '@heddle/core'

export interface FailedElements {
  /** The map. */
  readonly name: string
  readonly elements: number
  readonly failed: number
  /** The first failed elements, if the map recorded the outcome of each. */
  readonly first: readonly { readonly index: number; readonly text: string }[]
}

const mostShown = 3

/**
 * Failed elements in the maps of the graph itself: those of a sub-graph belong to its own result.
 */
export function failedElements(graph: Graph, result: GraphResult): FailedElements[] {
  const found: FailedElements[] = []
  const succeeded = new Set([...result.succeeded, ...result.reused])
  for (const { name, grows } of graph.nodes()) {
    if (grows?.kind !== 'map' || grows.atMost === 0 || !succeeded.has(name)) continue
    const value = result.valueOf(name)
    const one = grows.collect
      ? collectedOf(name, value as readonly ElementResult<unknown>[])
      : { name, ...(value as MapCounts), first: [] }
    if (one.failed > 0) found.push(one)
  }
  return found
}

function collectedOf(name: string, results: readonly ElementResult<unknown>[]): FailedElements {
  const first: { readonly index: number; readonly text: string }[] = []
  let failed = 0
  for (const [index, each] of results.entries()) {
    if (each.ok) continue
    failed++
    if (first.length < mostShown) first.push({ index, text: textOf(each.error) })
  }
  return { name, elements: results.length, failed, first }
}

function textOf({ name, message }: ElementError): string {
  return name === 'Error' || name === 'HeddleError' ? message : `${name}: ${message}`
}
