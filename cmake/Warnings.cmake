# One place for the flags that every target of ours is built with.
add_library(loadline_flags INTERFACE)
target_compile_options(loadline_flags INTERFACE -Wall -Wextra -Wpedantic -Wformat-security -Werror)
# A limit must come out the same on every compiler: no fused multiply-add behind our back.
target_compile_options(loadline_flags INTERFACE -ffp-contract=off)
if(LOADLINE_SANITIZE)
  target_compile_options(loadline_flags INTERFACE -fsanitize=${LOADLINE_SANITIZE} -fno-omit-frame-pointer
                                                  -fno-sanitize-recover=all)
  target_link_options(loadline_flags INTERFACE -fsanitize=${LOADLINE_SANITIZE})
endif()
if(LOADLINE_FUZZ)
  target_compile_options(loadline_flags INTERFACE -fsanitize=fuzzer-no-link)
endif()
