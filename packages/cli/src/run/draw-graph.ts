/** A graph as text that other programs draw: `--graph mermaid|dot|json`. */
import type { Graph, GraphNode } from '@heddle/core'
import { printable } from '../view/text.ts'

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

function nodeRecord({ name, job, after }: GraphNode): object {
  return { name, job: job.name, place: job.place, after }
}

/** Names may hold anything; ids are numbers in the order of the graph. */
function idsOf(graph: Graph): ReadonlyMap<string, string> {
  return new Map(Array.from(graph.nodes(), ({ name }, index) => [name, `n${index}`]))
}

function mermaid(graph: Graph): string {
  const ids = idsOf(graph)
  const lines = ['flowchart TD']
  for (const { name, job } of graph.nodes()) {
    const label = `"${mermaidText(name)}"`
    // A thread job is drawn as a process with double sides, so that places can be told apart without colours.
    lines.push(`  ${ids.get(name)}${job.place === 'loop' ? `[${label}]` : `[[${label}]]`}`)
  }
  for (const { name, after } of graph.nodes()) {
    for (const dependency of after) lines.push(`  ${ids.get(dependency)} --> ${ids.get(name)}`)
  }
  return `${lines.join('\n')}\n`
}

/** Mermaid reads `#name;` as a character, also inside quotes. */
function mermaidText(text: string): string {
  return printable(text).replace(/[#"<>&]/g, (character) => `#${character.codePointAt(0)};`)
}

function dot(graph: Graph): string {
  const ids = idsOf(graph)
  const lines = ['digraph heddle {', '  rankdir=TB', '  node [shape=box]']
  for (const { name, job } of graph.nodes()) {
    const shape = job.place === 'loop' ? '' : ' peripheries=2'
    lines.push(`  ${ids.get(name)} [label="${dotText(name)}"${shape}]`)
  }
  for (const { name, after } of graph.nodes()) {
    for (const dependency of after) lines.push(`  ${ids.get(dependency)} -> ${ids.get(name)}`)
  }
  return `${lines.join('\n')}\n}\n`
}

function dotText(text: string): string {
  return printable(text).replace(/["\\]/g, '\\$&')
}
