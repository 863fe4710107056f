# SPDX-License-Identifier: Apache-2.0
# Out of `objdump -dw -M intel`: the bytes of each instruction, its class and its
# access to memory, by mnemonic and operands, as "BYTES|CLASS ACCESS|TEXT". What the
# counter may take for anything (AVX-512, shadow stacks, what is no instruction) is left out.
BEGIN {
    FS = "\t"
    split("add adc sub sbb inc dec neg cmp lea cmpxchg cmpxchg8b cmpxchg16b xadd crc32 adcx adox", list, " ")
    for (i in list) class[list[i]] = "arithmetic"
    delete list
    split("and or xor not test shl shr sar sal rol ror rcl rcr shld shrd bt bts btr btc bsf bsr " \
        "tzcnt lzcnt popcnt andn blsr blsmsk blsi bzhi pdep pext bextr shlx shrx sarx rorx", list, " ")
    for (i in list) class[list[i]] = "logic"
    delete list
    split("mul imul div idiv mulx", list, " ")
    for (i in list) class[list[i]] = "multiply"
    delete list
    split("mov movabs movzx movsx movsxd push pop pushf popf xchg bswap cbw cwde cdqe cwd cdq cqo " \
        "leave enter lahf sahf movbe movnti xlat", list, " ")
    for (i in list) class[list[i]] = "move"
    delete list
    split("syscall cpuid rdtsc rdtscp int3 int ud2 ud1 hlt xgetbv xsetbv mfence lfence sfence fxsave " \
        "fxrstor fxsave64 fxrstor64 xsave xrstor xsavec xsaveopt xsave64 xrstor64 xsavec64 ldmxcsr stmxcsr " \
        "vldmxcsr vstmxcsr rdrand rdseed xtest xend rdfsbase wrfsbase rdgsbase wrgsbase " \
        "rdpid rdpkru wrpkru clflush clflushopt clwb rdpmc", list, " ")
    for (i in list) class[list[i]] = "system"
    delete list
    split("nop pause endbr64 prefetcht0 prefetcht1 prefetcht2 prefetchnta prefetchw clc stc cmc cld std " \
        "cli sti data16 rex.W notrack", list, " ")
    for (i in list) class[list[i]] = "other"
}

function class_of(name) {
    if (name in class)
        return class[name]
    if (name ~ /^(cmov|set)/)
        return "move"
    if (name ~ /^(j[a-z]*cxz|loop)/ || (name ~ /^j/ && name != "jmp"))
        return "branch"
    if (name == "jmp") return "jump"
    if (name == "call") return "call"
    if (name ~ /^ret/) return "return"
    if (name ~ /^(movs|cmps|stos|lods|scas)$/)
        return "string"
    if (name ~ /^f/)
        return "float"
    sub(/^v/, "", name)
    if (name ~ /^(add|sub|mul|div|min|max|sqrt|rcp|rsqrt|cmp.*|round|dp|hadd|hsub|addsub)[ps][sd]$/ ||
        name ~ /^(u?comis|cvt|fn?m(add|sub))/)
        return "float"
    return "vector"
}

# Mnemonics that write what they name first; others only read memory.
function access_of(name, operands, text,    first, rest, memory, at) {
    text = operands
    at = index(text, ",")
    # Commas do not stand within brackets in this syntax.
    first = at ? substr(text, 1, at - 1) : text
    rest = at ? substr(text, at + 1) : ""
    memory = text ~ /\[|[a-z]s:0x/
    if (class_of(name) == "string")
        return name ~ /^movs/ ? "loadAndStore" : name ~ /^stos/ ? "store" : "load"
    if (name ~ /^(nop|prefetch|lea$|endbr|clflush|clwb)/) return "none"
    if (name == "push" || name == "call") return memory ? "loadAndStore" : "store"
    if (name == "pushf" || name == "enter") return "store"
    if (name == "pop") return memory ? "loadAndStore" : "load"
    if (name ~ /^(popf|leave|ret|xlat)/) return "load"
    if (name ~ /^v?maskmov(q|dqu)$/) return "store"
    if (!memory) return "none"
    if (name ~ /^f/)
        return name ~ /^(fst|fist|fbstp|fnst|fnsave|fxsave)/ ? "store" : "load"
    if (name ~ /^(xsave|vstmxcsr|stmxcsr|set)/) return "store"
    if (name ~ /^(xrstor|v?ldmxcsr|bt$|cmp$|test$|mul$|imul|div|idiv|jmp)/) return "load"
    if (first !~ /\[|[a-z]s:0x/) return name == "xchg" ? "loadAndStore" : "load"
    if (name ~ /^(inc|dec|neg|not|add|adc|sub|sbb|and|or|xor|sh|sa|ro|rc|bt|xchg|xadd|cmpxchg)/)
        return "loadAndStore"
    return class_of(name) == "float" && name !~ /^vcvtps2ph/ ? "load" : "store"
}

NF >= 3 {
    bytes = $2
    sub(/ +$/, "", bytes)
    text = $3
    sub(/ *#.*/, "", text)
    sub(/ *<.*/, "", text)
    # Prefixes that stand as words of their own.
    while (text ~ /^(lock|rep|repz|repnz|bnd|notrack|cs|ds|es|ss|fs|gs|data16|addr32|xacquire|xrelease|rex[.A-Z]*) +[a-z]/)
        sub(/^[^ ]+ +/, "", text)
    name = text
    sub(/ .*/, "", name)
    operands = substr(text, length(name) + 1)
    if (bytes ~ /^(66 )*90$/)
        name = "nop"
    if (name ~ /bad/ || bytes ~ /^((66 |67 )*62|9b) / || operands ~ /k[0-7]|zmm/ || name ~ /^(k[a-z]+[bwdq]|l?(jmp|call|ret)f?w?$)/ && name !~ /^(jmp|call|ret)$/ ||
        name ~ /^(ins[bwd]|outs[bwd]|in|out|rex|lock|rep|repz|repnz|bnd|[c-g]s|ss|xbegin|xabort|vfn?m(add|sub)[ps][sd]|iret|retf|(rd|inc)ssp[dq]|rstorssp|saveprevssp|setssbsy|clrssbsy|l[defgs]s|l[gil]dt|s[gil]dt|lar|lsl|str|ltr|ver[rw]|fwait)$/ || name ~ /^rex|^\./)
        next
    print bytes "|" class_of(name) " " access_of(name, operands) "|" text
}
