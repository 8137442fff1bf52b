/** A graph as text that other programs draw: `--graph mermaid|dot|json`. */
import type { Graph, GraphNode } from '@heddle/core'
import { printable } from '../text/terminal-text.ts'

export const graphFormats = ['mermaid', 'dot', 'json'] as const
export type GraphFormat = (typeof graphFormats)[number]

/** The whole text, with an end of line. */
export function drawGraph(graph: Graph, format: GraphFormat): string {
  switch (format) {
    case 'mermaid':
      return mermaid(graph)
    case 'dot':
      return dot(graph)
    case 'json':
      return `${JSON.stringify({ nodes: Array.from(graph.nodes(), nodeRecord) }, undefined, 2)}\n`
  }
}

function nodeRecord(node: GraphNode): object {
  const { name, job, after, grows } = node
  return {
    name,
    kind: grows?.kind ?? 'job',
    ...(grows?.kind !== 'subgraph' && { job: job.name, place: job.place }),
    ...(grows?.kind === 'map' && { window: grows.window }),
    ...(isCleanUp(node) && { when: 'always' }),
    after,
  }
}

function isCleanUp({ options }: GraphNode): boolean {
  return options.when === 'always'
}

/** Details that the shape alone does not show. */
function labelOf({ name, job, grows }: GraphNode): string {
  const words = [
    ...(grows === undefined ? [] : [grows.kind === 'map' ? 'map' : 'sub-graph']),
    ...(job.place === 'fleet' || (grows?.kind === 'map' && job.place !== 'loop')
      ? [job.place]
      : []),
  ]
  return words.length === 0 ? name : `${name} (${words.join(', ')})`
}

/** Names may hold anything; ids are numbers in the order of the graph. */
function idsOf(graph: Graph): ReadonlyMap<string, string> {
  return new Map(Array.from(graph.nodes(), ({ name }, index) => [name, `n${index}`]))
}

function mermaid(graph: Graph): string {
  const ids = idsOf(graph)
  const lines = ['flowchart TD']
  for (const node of graph.nodes()) {
    const [open, close] = mermaidShape(node)
    lines.push(`  ${ids.get(node.name)}${open}"${mermaidText(labelOf(node))}"${close}`)
  }
  for (const node of graph.nodes()) {
    const arrow = isCleanUp(node) ? '-.->' : '-->'
    for (const name of node.after) lines.push(`  ${ids.get(name)} ${arrow} ${ids.get(node.name)}`)
  }
  return `${lines.join('\n')}\n`
}

/** Maps are hexagons, sub-graphs have slanted sides, jobs off the loop double ones: all without colours. */
function mermaidShape({ job, grows }: GraphNode): readonly [open: string, close: string] {
  if (grows?.kind === 'map') return ['{{', '}}']
  if (grows?.kind === 'subgraph') return ['[/', '/]']
  return job.place === 'loop' ? ['[', ']'] : ['[[', ']]']
}

/** Mermaid reads `#name;` as a character, also inside quotes. */
function mermaidText(text: string): string {
  return printable(text).replace(/[#"<>&]/g, (character) => `#${character.codePointAt(0)};`)
}

function dot(graph: Graph): string {
  const ids = idsOf(graph)
  const lines = ['digraph heddle {', '  rankdir=TB', '  node [shape=box]']
  for (const node of graph.nodes()) {
    const { name } = node
    lines.push(`  ${ids.get(name)} [label="${dotText(labelOf(node))}"${dotShape(node)}]`)
  }
  for (const node of graph.nodes()) {
    const style = isCleanUp(node) ? ' [style=dashed]' : ''
    for (const name of node.after) {
      lines.push(`  ${ids.get(name)} -> ${ids.get(node.name)}${style}`)
    }
  }
  return `${lines.join('\n')}\n}\n`
}

function dotShape({ job, grows }: GraphNode): string {
  const shape = { map: ' shape=hexagon', subgraph: ' shape=parallelogram', job: '' }
  return shape[grows?.kind ?? 'job'] + (job.place === 'loop' ? '' : ' peripheries=2')
}

function dotText(text: string): string {
  return printable(text).replace(/["\\]/g, '\\$&')
}
