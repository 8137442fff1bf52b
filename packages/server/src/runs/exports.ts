/** A recorded run in the formats of other tools. */
import { nodeWord, type RunRecord } from '@heddle/core/lowlevel'

/** For `chrome://tracing` and Perfetto: complete events, in microseconds, with a thread for each place. */
export function chromeTrace({ nodes, startedAt }: RunRecord): object {
  const threads = { loop: 1, thread: 2, fleet: 3 }
  const names = Object.entries(threads).map(([name, tid]) => ({
    ph: 'M',
    name: 'thread_name',
    pid: 1,
    tid,
    args: { name },
  }))
  const events = nodes.flatMap(({ name, job, place, attempts }) =>
    attempts.map((attempt) => ({
      name,
      cat: job,
      ph: 'X',
      pid: 1,
      tid: threads[place],
      ts: (attempt.startedAt - startedAt) * 1_000,
      dur: (attempt.endedAt - attempt.startedAt) * 1_000,
      args: { attempt: attempt.number, outcome: attempt.outcome },
    })),
  )
  return { displayTimeUnit: 'ms', traceEvents: [...names, ...events] }
}

const colours: Readonly<Record<string, string>> = {
  succeeded: 'fill:#dcfce7,stroke:#16a34a,color:#14532d',
  failed: 'fill:#fee2e2,stroke:#dc2626,color:#7f1d1d',
  blocked: 'fill:#ffedd5,stroke:#ea580c,color:#7c2d12',
  running: 'fill:#dbeafe,stroke:#2563eb,color:#1e3a8a',
}

export function mermaid({ nodes }: RunRecord): string {
  const ids = new Map(nodes.map(({ name }, index) => [name, `n${index}`]))
  const lines = ['flowchart LR']
  for (const node of nodes) {
    const word = nodeWord(node)
    const mark = word in colours ? `:::${word}` : ''
    lines.push(`  ${ids.get(node.name)!}["${label(node.name)}"]${mark}`)
  }
  for (const { name, after } of nodes) {
    for (const each of after)
      if (ids.has(each)) lines.push(`  ${ids.get(each)!} --> ${ids.get(name)!}`)
  }
  for (const [state, style] of Object.entries(colours)) lines.push(`  classDef ${state} ${style}`)
  return `${lines.join('\n')}\n`
}

/** Text inside quotes of Mermaid, which knows entities by number. */
function label(text: string): string {
  return text.replaceAll(/["#<>&\r\n]/g, (char) => `#${char.codePointAt(0)};`)
}

export function graphJson({ nodes }: RunRecord): object {
  return {
    nodes: nodes.map((node) => ({
      name: node.name,
      job: node.job,
      place: node.place,
      after: node.after,
      state: nodeWord(node),
    })),
  }
}
