import assert from 'node:assert/strict'
import { test } from 'node:test'
import { bottomUp } from '../../src/summaries/call-order.ts'
import { programOf } from '../support/program.ts'

function componentsOf(source: string): string[][] {
  const { units } = programOf({ 'a.ts': source })
  const components: string[][] = []
  bottomUp(
    units.filter((unit) => unit.graph !== undefined),
    (component) => components.push(component.map((unit) => unit.name).sort()),
  )
  return components
}

test('callees come before their callers', () => {
  const order = componentsOf(
    'function a() { b() }\nfunction b() { c() }\nfunction c() {}\na()',
  ).flat()
  assert.ok(order.indexOf('c') < order.indexOf('b'))
  assert.ok(order.indexOf('b') < order.indexOf('a'))
  assert.ok(order.indexOf('a') < order.indexOf('<module>'))
})

test('functions that call each other are one component', () => {
  const components = componentsOf(
    'function a() { b() }\nfunction b() { a(); c() }\nfunction c() {}',
  )
  assert.ok(components.some((component) => component.join() === 'a,b'))
  assert.ok(components.some((component) => component.join() === 'c'))
})

test('a chain of 20,000 calls does not exhaust the stack', () => {
  const lines = Array.from({ length: 20_000 }, (_, at) => `function f${at}() { f${at + 1}() }`)
  const components = componentsOf(`${lines.join('\n')}\nfunction f20000() {}`)
  assert.equal(components.length, 20_002)
})
