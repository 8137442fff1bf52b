// Checked by the compiler only: results flow, typed, along the edges.
import { Graph, job, run, type NodeRef, type ReadResult } from '@heddle/core'

const text = job({ name: 'text' }, () => 'csv')
const parse = job({ name: 'parse' }, async (csv: string) => csv.split(',').map(Number))
const plot = job({ name: 'plot' }, (rows: number[]) => ({ svg: String(rows.length) }))

const g = new Graph()
const a = g.add('a', text)
const b: NodeRef<number[]> = g.add('b', parse, { after: [a], input: (of) => of(a) })
const c = g.add('c', plot, { after: [b], input: async (of) => of(b) })
g.add('d', plot, { input: [1, 2, 3] })

// @ts-expect-error the input of plot is number[]
g.add('e', plot, { input: 'text' })
// @ts-expect-error parse needs an input
g.add('f', parse)
// @ts-expect-error the result of a is a string, plot wants number[]
g.add('g', plot, { after: [a], input: (of) => of(a) })
// @ts-expect-error c is not listed in after
g.add('h', parse, { after: [a], input: (of) => of(c) })

// The compiler's text for a node that is not listed and for a missing input: only these words are accepted there.
declare const of: ReadResult<readonly [typeof a]>
of(a) satisfies string
of<typeof c>('of() reads only nodes that are listed in `after`')
declare const asked: typeof parse & 'this job takes an input: add it as { input }'
g.add('i', asked)

const result = await run(g)
const svg: string = result.of(c).svg
// @ts-expect-error the result of c is not a number
const wrong: number = result.of(c)
export { svg, wrong }
