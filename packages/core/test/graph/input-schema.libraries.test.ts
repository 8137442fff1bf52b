import assert from 'node:assert/strict'
import { test } from 'node:test'
import { Graph, job, run, type InputSchema } from '@heddle/core'
import { Type, type Static, type TSchema } from 'typebox'
import { Compile } from 'typebox/compile'
import { z } from 'zod'

/** The adapter of docs/guide/graphs.md. */
function standard<S extends TSchema>(schema: S): InputSchema<Static<S>> {
  const compiled = Compile(schema)
  const issues = (value: unknown) =>
    compiled.Errors(value).map(({ instancePath, message }) => ({
      message,
      path: instancePath.split('/').slice(1),
    }))
  return {
    '~standard': {
      version: 1,
      vendor: 'typebox',
      validate: (value) => (compiled.Check(value) ? { value } : { issues: issues(value) }),
    },
  }
}

const schemas = {
  zod: z.object({ id: z.number().int(), to: z.object({ country: z.string().length(2) }) }),
  typebox: standard(
    Type.Object({
      id: Type.Integer(),
      to: Type.Object({ country: Type.String({ minLength: 2, maxLength: 2 }) }),
    }),
  ),
} satisfies Record<string, InputSchema<{ id: number; to: { country: string } }>>

for (const [name, input] of Object.entries(schemas)) {
  test(`${name}: a right input reaches the job, a wrong one is refused with the path of each field`, async () => {
    let calls = 0
    const ship = job({ name: 'ship', input }, ({ id, to }) => `${++calls}: ${id} to ${to.country}`)
    const right = new Graph()
    const shipped = right.add('ship 7', ship, { input: { id: 7, to: { country: 'DE' } } })
    const result = await run(right)
    assert.equal(result.of(shipped), '1: 7 to DE')
    const wrong = new Graph()
    wrong.add('ship 8', ship, { input: { id: 7.5, to: { country: 'Germany' } } })
    await assert.rejects(run(wrong), {
      code: 'HDL_WRONG_INPUT',
      message: /^The input of "ship 8" is wrong: id: .+; to\.country: .+\.$/,
    })
    assert.equal(calls, 1)
  })
}

test('zod: the job gets defaults and transformed values; the node takes the input type of the schema', async () => {
  const input = z.object({ n: z.string().transform(Number), tenant: z.string().default('acme') })
  const add = job({ name: 'add', input }, ({ n, tenant }) => `${tenant} ${n + 1}`)
  const graph = new Graph()
  const added = graph.add('add', add, { input: { n: '4' } })
  const result = await run(graph)
  assert.equal(result.of(added), 'acme 5')
})
