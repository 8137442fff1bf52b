/** Lays out graphs beside the page. One question at a time; the answer names it. */
import { layOut, type Layout, type Spacing } from './layout.ts'
import type { Edges } from './edges.ts'

export interface LayoutQuestion {
  readonly id: number
  readonly edges: Edges
  readonly before: Layout | undefined
  readonly spacing: Spacing
}

export interface LayoutAnswer {
  readonly id: number
  readonly layout: Layout
}

const scope = globalThis as unknown as {
  addEventListener(name: 'message', listener: (event: MessageEvent<LayoutQuestion>) => void): void
  postMessage(answer: LayoutAnswer): void
}

scope.addEventListener('message', ({ data }) => {
  const { id, edges, before, spacing } = data
  scope.postMessage({ id, layout: layOut(edges, before, spacing) })
})
