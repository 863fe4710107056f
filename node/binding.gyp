{
  "targets": [
    {
      "target_name": "channel",
      "sources": [
        "sources/node/addon/addon.c",
        "sources/node/addon/frame_channel.c",
        "sources/proto/netstring.c",
        "sources/base/buf.c",
        "sources/base/text/format.c",
        "sources/base/error.c",
        "sources/base/stamp.c"
      ],
      "include_dirs": ["sources"],
      "defines": ["_GNU_SOURCE", "NAPI_VERSION=8"],
      "cflags_c": ["-std=gnu17", "-fvisibility=hidden"]
    }
  ]
}
