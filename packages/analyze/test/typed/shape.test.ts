import assert from 'node:assert/strict'
import { test } from 'node:test'
import { parseSource } from '../../src/frontend/parse.ts'
import { shapeOf } from '../../src/typed/shape.ts'

const shape = (text: string): string => shapeOf(parseSource('a.ts', text))

test('bodies of functions are not part of the shape, everything else is', () => {
  const text = 'class A { async b(c: C): Promise<D> { return e } f = (g: G) => { h } }\nconst i = j'
  assert.equal(shape(text), 'class A { async b(c: C): Promise<D>  f = (g: G) =>  }\nconst i = j')
  assert.equal(shape('const a = () => b'), 'const a = () => b')
})
