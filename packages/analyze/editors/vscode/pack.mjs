/**
 * Packs the extension: `node pack.mjs [file.vsix]`.
 *
 * A .vsix file is a zip archive with a manifest. The archive is written here, so that packing needs no package: each
 * entry is deflated, its time is fixed, and the same files make the same bytes.
 */
import { readFile, writeFile } from 'node:fs/promises'
import path from 'node:path'
import { promisify } from 'node:util'
import { crc32, deflateRaw } from 'node:zlib'

const deflate = promisify(deflateRaw)
const folder = import.meta.dirname
const files = ['package.json', 'extension.cjs', 'README.md']
/** 1980-01-01 00:00, the first that the format knows. */
const [date, time] = [0x21, 0]

const escape = (text) => text.replaceAll('&', '&amp;').replaceAll('<', '&lt;')

/** *Cancellation*: none; it reads three small files. */
export async function packExtension() {
  const contents = await Promise.all(files.map((name) => readFile(path.join(folder, name))))
  const manifest = JSON.parse(contents[files.indexOf('package.json')].toString())
  return zip([
    ['extension.vsixmanifest', Buffer.from(vsixManifest(manifest))],
    ['[Content_Types].xml', Buffer.from(contentTypes)],
    ...files.map((name, at) => [`extension/${name}`, contents[at]]),
  ])
}

const contentTypes = `<?xml version="1.0" encoding="utf-8"?>
<Types xmlns="http://schemas.openxmlformats.org/package/2006/content-types"><Default Extension=".json" ContentType="application/json"/><Default Extension=".cjs" ContentType="application/javascript"/><Default Extension=".md" ContentType="text/markdown"/><Default Extension=".vsixmanifest" ContentType="text/xml"/></Types>
`

function vsixManifest({ name, displayName, description, version, publisher, engines, categories }) {
  return `<?xml version="1.0" encoding="utf-8"?>
<PackageManifest Version="2.0.0" xmlns="http://schemas.microsoft.com/developer/vsx-schema/2011">
  <Metadata>
    <Identity Language="en-US" Id="${name}" Version="${version}" Publisher="${publisher}"/>
    <DisplayName>${escape(displayName)}</DisplayName>
    <Description xml:space="preserve">${escape(description)}</Description>
    <Categories>${categories.join(',')}</Categories>
    <Properties><Property Id="Microsoft.VisualStudio.Code.Engine" Value="${escape(engines.vscode)}"/></Properties>
  </Metadata>
  <Installation><InstallationTarget Id="Microsoft.VisualStudio.Code"/></Installation>
  <Dependencies/>
  <Assets>
    <Asset Type="Microsoft.VisualStudio.Code.Manifest" Path="extension/package.json" Addressable="true"/>
    <Asset Type="Microsoft.VisualStudio.Services.Content.Details" Path="extension/README.md" Addressable="true"/>
  </Assets>
</PackageManifest>
`
}

async function zip(entries) {
  const parts = []
  const directory = []
  let offset = 0
  for (const [name, data] of entries) {
    const packed = await deflate(data)
    const title = Buffer.from(name)
    const common = Buffer.alloc(26)
    common.writeUInt16LE(20, 0)
    common.writeUInt16LE(0x800, 2)
    common.writeUInt16LE(8, 4)
    common.writeUInt16LE(time, 6)
    common.writeUInt16LE(date, 8)
    common.writeUInt32LE(crc32(data), 10)
    common.writeUInt32LE(packed.length, 14)
    common.writeUInt32LE(data.length, 18)
    common.writeUInt16LE(title.length, 22)
    parts.push(Buffer.from('PK\x03\x04', 'latin1'), common, title, packed)
    const rest = Buffer.alloc(14)
    rest.writeUInt32LE(offset, 10)
    directory.push(Buffer.from('PK\x01\x02\x14\x00', 'latin1'), common, rest, title)
    offset += 30 + title.length + packed.length
  }
  const index = Buffer.concat(directory)
  const end = Buffer.alloc(18)
  end.writeUInt16LE(entries.length, 4)
  end.writeUInt16LE(entries.length, 6)
  end.writeUInt32LE(index.length, 8)
  end.writeUInt32LE(offset, 12)
  return Buffer.concat([...parts, index, Buffer.from('PK\x05\x06', 'latin1'), end])
}

if (process.argv[1] === import.meta.filename) {
  const target = process.argv[2] ?? path.join(folder, 'heddle-analyze.vsix')
  const packed = await packExtension()
  await writeFile(target, packed)
  process.stdout.write(`Wrote ${target}: ${packed.length} bytes.\n`)
}
