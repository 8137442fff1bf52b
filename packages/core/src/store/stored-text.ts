/**
 * Text that PostgreSQL can hold. Its text has no U+0000, and its UTF-8 no single surrogates; text of users has both. They
 * are written as U+001A and four hexadecimal digits, and so is U+001A itself.
 */
const escaped = /[\0\x1a]|[\ud800-\udbff](?![\udc00-\udfff])|(?<![\ud800-\udbff])[\udc00-\udfff]/g

export function toStored(text: string): string {
  if (text.isWellFormed() && !/[\0\x1a]/.test(text)) return text
  return text.replace(escaped, (unit) => {
    return `\x1a${unit.charCodeAt(0).toString(16).padStart(4, '0')}`
  })
}

export function fromStored(text: string): string {
  if (!text.includes('\x1a')) return text
  return text.replace(/\x1a([0-9a-f]{4})/g, (_, code: string) => {
    return String.fromCharCode(Number.parseInt(code, 16))
  })
}
