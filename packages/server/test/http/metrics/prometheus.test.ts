import assert from 'node:assert/strict'
import { test } from 'node:test'
import { prometheusText } from '../../../src/http/metrics/prometheus.ts'

test('a family has its help, its type and a line for each sample', () => {
  const text = prometheusText([
    {
      name: 'requests_total',
      help: 'Requests by outcome.',
      type: 'counter',
      samples: [
        { labels: { outcome: 'success' }, value: 3 },
        { labels: { outcome: 'error', stage: 'item' }, value: 0 },
      ],
    },
    { name: 'load', help: 'Now.', type: 'gauge', samples: [{ value: 0.25 }] },
    {
      name: 'wait_seconds',
      help: 'Waits.',
      type: 'summary',
      samples: [
        { labels: { quantile: '0.5' }, value: 1e-7 },
        { suffix: '_sum', value: 12.5 },
        { suffix: '_count', labels: {}, value: 4 },
      ],
    },
  ])
  assert.equal(
    text,
    `# HELP requests_total Requests by outcome.
# TYPE requests_total counter
requests_total{outcome="success"} 3
requests_total{outcome="error",stage="item"} 0
# HELP load Now.
# TYPE load gauge
load 0.25
# HELP wait_seconds Waits.
# TYPE wait_seconds summary
wait_seconds{quantile="0.5"} 1e-7
wait_seconds_sum 12.5
wait_seconds_count 4
`,
  )
})

test('characters that would end a line or a label are escaped', () => {
  const text = prometheusText([
    {
      name: 'm',
      help: 'one\ntwo \\ "three"',
      type: 'gauge',
      samples: [{ labels: { of: 'a"b\\c\nd' }, value: 1 }],
    },
  ])
  assert.equal(text, '# HELP m one\\ntwo \\\\ "three"\n# TYPE m gauge\nm{of="a\\"b\\\\c\\nd"} 1\n')
})

test('numbers that JSON does not have', () => {
  const samples = [Infinity, -Infinity, NaN].map((value) => ({ value }))
  const text = prometheusText([{ name: 'm', help: '', type: 'gauge', samples }])
  assert.match(text, /^m \+Inf\nm -Inf\nm NaN\n$/m)
})

test('nothing is nothing', () => {
  assert.equal(prometheusText([]), '')
})

test('a family without samples has no empty line', () => {
  const text = prometheusText([{ name: 'm', help: 'h', type: 'gauge', samples: [] }])
  assert.equal(text, '# HELP m h\n# TYPE m gauge\n')
})
