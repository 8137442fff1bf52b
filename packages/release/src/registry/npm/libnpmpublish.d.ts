declare module 'libnpmpublish/lib/provenance.js' {
  interface Subject {
    readonly name: string
    readonly digest: { readonly sha512: string }
  }
  const library: {
    generateProvenance(
      subject: readonly Subject[],
      options: { readonly fulcioURL?: string; readonly rekorURL?: string },
    ): Promise<{ readonly mediaType: string }>
  }
  export default library
}
