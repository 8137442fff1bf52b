import assert from 'node:assert/strict'
import { test } from 'node:test'
import { readUpload } from '../upload.ts'

/** Made up, in the shapes that the apps of the vendors write. */
const samples = {
  clarity: [
    'Index,Timestamp (YYYY-MM-DDThh:mm:ss),Event Type,Event Subtype,Glucose Value (mg/dL)',
    '1,,FirstName,,',
    '2,2026-01-02T06:05:00,EGV,,104',
    '3,2026-01-02T06:00:00,EGV,,Low',
    '4,2026-01-02T06:07:00,Calibration,,99',
    '5,2026-01-02T06:10:00,EGV,,none',
  ],
  libreview: [
    'Glucose Data,Generated on,02-01-2026 08:00 UTC',
    'Device,Serial Number,Device Timestamp,Record Type,Historic Glucose mmol/L,Notes',
    'Sensor,1,02-01-2026 06:00,0,5.5,"a note, with a comma"',
    'Sensor,1,02-01-2026 06:15,0,6,',
    'Sensor,1,02-01-2026 06:20,6,,',
  ],
  'date and time apart': [
    'Date;Time;Sensor Glucose (mmol/L)',
    '02.01.2026;06:00;5,5',
    '02.01.2026;06:05;6',
  ],
  plain: ['time,value', '06:00,99.1', '06:05,108'],
}

test('uploads of four formats are the same readings', () => {
  for (const [format, lines] of Object.entries(samples)) {
    for (const end of ['\n', '\r\n']) {
      const found = readUpload(lines.join(end))
      assert.equal(found.format, format)
      const values = found.readings.map(({ value }) => Math.round(value))
      assert.deepEqual(values, format === 'clarity' ? [39, 104] : [99, 108], format)
      const [first, second] = found.readings
      const minutes = (second!.at - first!.at) / 60_000
      assert.equal(minutes, format === 'libreview' ? 15 : 5, format)
    }
  }
})

test('lines of another kind and lines that cannot be read are counted apart', () => {
  const { other, unreadable } = readUpload(samples.clarity.join('\n'))
  assert.deepEqual([other, unreadable], [2, 1])
  assert.equal(readUpload(samples.libreview.join('\n')).other, 1)
})

test('a day first is not a month first', () => {
  const { readings } = readUpload('Date;Time;Value\n03.02.2026;00:00;100')
  assert.equal(readings[0]!.at, Date.UTC(2026, 1, 3))
})

test('a file without headings of any known format is refused, with the formats', () => {
  for (const csv of ['', '1,2\n3,4', '<html>', 'a;b;c\n1;2;3', '\u0000'.repeat(100)]) {
    assert.throws(() => readUpload(csv), /formats are: clarity, libreview/, csv)
  }
})
